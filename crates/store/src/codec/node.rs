//! What nodes tell of themselves.

use referee::Stamp;

use super::field::damaged;
use super::{CodecError, FORMAT, record};
use crate::{NodeId, NodeReport, PoolName, PoolReport};

/// Writes what a node tells of itself, apart from its id.
///
/// # Errors
/// It is longer than a record can be; it never is.
pub fn encode_node_report(report: &NodeReport) -> Result<Vec<u8>, CodecError> {
    super::write(&record::NodeReport {
        format: FORMAT,
        name: report.name.clone(),
        version: report.version.clone(),
        started_ms: report.started.as_ms(),
        draining: report.draining,
        streams: report.streams,
        pools: report.pools.iter().map(write_pool).collect(),
    })
}

/// Reads what [`encode_node_report`] wrote of this node.
///
/// # Errors
/// The bytes are no such record, or of a newer format.
pub fn decode_node_report(node: NodeId, bytes: &[u8]) -> Result<NodeReport, CodecError> {
    let report = super::read(bytes, |report: &record::NodeReport| report.format)?;
    Ok(NodeReport {
        node,
        name: report.name,
        version: report.version,
        started: Stamp::from_ms(report.started_ms),
        draining: report.draining,
        streams: report.streams,
        pools: report.pools.iter().map(read_pool).collect::<Result<_, _>>()?,
    })
}

fn write_pool(pool: &PoolReport) -> record::PoolReport {
    record::PoolReport {
        pool: pool.pool.to_string(),
        waiting: pool.waiting,
        oldest_wait_ms: pool.oldest_wait_ms,
    }
}

fn read_pool(pool: &record::PoolReport) -> Result<PoolReport, CodecError> {
    Ok(PoolReport {
        pool: PoolName::new(&pool.pool).map_err(|_| damaged("PoolReport.pool"))?,
        waiting: pool.waiting,
        oldest_wait_ms: pool.oldest_wait_ms,
    })
}
