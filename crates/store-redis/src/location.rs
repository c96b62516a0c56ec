//! Where a Redis is, as an address line says it.

use std::fmt;
use std::str::FromStr;

use crate::error::OpenError;

/// The port of a Redis that names none.
const PORT: u16 = 6_379;

/// The port of a sentinel that names none.
const SENTINEL_PORT: u16 = 26_379;

/// Where a Redis is, and what shape it has:
///
/// - `redis://[user[:password]@]host[:port][/database]`: one server
/// - `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/service[/database]`: the primary that
///   these sentinels know under the name of the service; user and password are the servers'
/// - `redis+cluster://[user[:password]@]host[:port][,host[:port]…]`: a cluster with these nodes and others
///
/// With `rediss` instead of `redis` the connections use TLS. Characters that a part may not hold are
/// written as `%` and two hexadecimal digits. `Debug` and `Display` do not show the password.
///
/// ```
/// use store_redis::Location;
/// let location: Location = "redis+cluster://wts:secret@10.0.0.1,10.0.0.2:7000".parse()?;
/// assert_eq!(location.to_string(), "redis+cluster://10.0.0.1:6379,10.0.0.2:7000");
/// # Ok::<(), store_redis::OpenError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) shape: Shape,
    /// The server, sentinels or some nodes of the cluster; at least one.
    pub(crate) addresses: Vec<Address>,
    pub(crate) tls: bool,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: i64,
}

/// How the servers of a store belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One server.
    Single,
    /// A primary that sentinels choose.
    Sentinel {
        /// The name they know it by.
        service: String,
    },
    /// Slots spread over primaries.
    Cluster,
}

/// A host and a port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for Location {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        let (scheme, rest) = text.split_once("://").ok_or(malformed("there is no scheme"))?;
        let (tls, scheme) = match scheme.strip_prefix("rediss") {
            Some(scheme) => (true, scheme),
            None => (false, scheme.strip_prefix("redis").ok_or(malformed("the scheme is not redis"))?),
        };
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut path = path.split('/').filter(|part| !part.is_empty());
        let (shape, port) = match scheme {
            "" => (Shape::Single, PORT),
            "+cluster" => (Shape::Cluster, PORT),
            "+sentinel" => {
                let service = decoded(path.next().ok_or(malformed("there is no service"))?)?;
                (Shape::Sentinel { service }, SENTINEL_PORT)
            }
            _ => return Err(malformed("the scheme is not redis, redis+sentinel or redis+cluster")),
        };
        let database = path.next().map_or(Ok(0), str::parse).ok().filter(|number| *number >= 0);
        let database = database.ok_or(malformed("the database is no number"))?;
        if path.next().is_some() || (shape == Shape::Cluster && database != 0) {
            return Err(malformed("there is more behind the hosts than there can be"));
        }
        let addresses =
            hosts.split(',').map(|host| Address::parse(host, port)).collect::<Result<Vec<_>, _>>()?;
        if shape == Shape::Single && addresses.len() > 1 {
            return Err(malformed("one server has one address"));
        }
        let (user, password) = login.map_or(Ok((None, None)), read_login)?;
        Ok(Self { shape, addresses, tls, user, password, database })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.shape {
            Shape::Single => "",
            Shape::Sentinel { .. } => "+sentinel",
            Shape::Cluster => "+cluster",
        };
        write!(f, "redis{}{kind}://", if self.tls { "s" } else { "" })?;
        for (number, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if number > 0 { "," } else { "" })?;
        }
        if let Shape::Sentinel { service } = &self.shape {
            write!(f, "/{service}")?;
        }
        if self.database > 0 { write!(f, "/{}", self.database) } else { Ok(()) }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

impl Address {
    /// Reads `host`, `host:port`, `[address]` or `[address]:port`.
    pub(crate) fn parse(text: &str, default_port: u16) -> Result<Self, OpenError> {
        let (host, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(default_port), str::parse).map_err(|_| malformed("a port is no number"))?;
        if host.is_empty() {
            return Err(malformed("a host is missing"));
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Reads `user`, `user:password` or `:password`.
fn read_login(login: &str) -> Result<(Option<String>, Option<String>), OpenError> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(decoded(password)?)),
        None => (login, None),
    };
    let user = if user.is_empty() { None } else { Some(decoded(user)?) };
    Ok((user, password))
}

/// Reads `%` and two hexadecimal digits as the byte they stand for.
fn decoded(text: &str) -> Result<String, OpenError> {
    let wrong = malformed("what follows a % is no byte");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(wrong.clone())?;
        rest = after;
        let digits = std::str::from_utf8(digits).map_err(|_| wrong.clone())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong.clone())?);
    }
    String::from_utf8(bytes).map_err(|_| wrong)
}

fn malformed(why: &'static str) -> OpenError {
    OpenError::Location { why }
}
