//! A release that is newer than this one: what it says has fields, kinds and values that nobody here knows.

use std::net::SocketAddr;
use std::sync::LazyLock;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, Kind, ReflectMessage as _, Value};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use service_tests::connect;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Status};

use super::every_rpc::Raw;

const PACKAGE: &str = "whattheshell.v1";

/// The numbers of what is new, above those of every message.
const NEW_TEXT: u32 = 1_000;
const NEW_NUMBER: u32 = 1_001;
const NEW_PART: u32 = 1_002;
const NEW_ARM: u32 = 1_010;

/// A number that no enumeration has.
pub(crate) const NEW_VALUE: i32 = 99;

/// The API with a new text, number and part in every message, and a new arm in every choice.
static NEWER: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let mut files = FileDescriptorSet::decode(wire::FILE_DESCRIPTOR_SET).expect("descriptors");
    let own = files.file.iter_mut().filter(|file| file.package() == PACKAGE);
    own.flat_map(|file| &mut file.message_type).for_each(add_what_is_new);
    DescriptorPool::from_file_descriptor_set(files).expect("they hold together")
});

fn add_what_is_new(message: &mut DescriptorProto) {
    let own_type = format!(".{PACKAGE}.{}", message.name());
    // An optional field is a choice of its own, which gets no arms.
    let is_choice = |index: &i32| {
        message.field.iter().any(|field| field.oneof_index == Some(*index) && !field.proto3_optional())
    };
    let choices: Vec<i32> = (0..).take(message.oneof_decl.len()).filter(is_choice).collect();
    message.field.push(field(NEW_TEXT, Type::String, None));
    message.field.push(field(NEW_NUMBER, Type::Uint64, None));
    message
        .field
        .push(FieldDescriptorProto { type_name: Some(own_type), ..field(NEW_PART, Type::Message, None) });
    for choice in choices {
        let number = NEW_ARM + u32::try_from(choice).expect("few");
        message.field.push(field(number, Type::String, Some(choice)));
    }
}

fn field(number: u32, kind: Type, oneof_index: Option<i32>) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(format!("new_{number}")),
        number: i32::try_from(number).ok(),
        label: Some(Label::Optional.into()),
        r#type: Some(kind.into()),
        oneof_index,
        ..Default::default()
    }
}

/// The message as a newer release sends it: all that it was, and in every part of it what is new.
pub(crate) fn with_new_fields(message_type: &str, message: &[u8]) -> Vec<u8> {
    changed(message_type, message, &|message| {
        let part = DynamicMessage::new(message.descriptor());
        message.set_field_by_number(NEW_TEXT, Value::String("new".to_owned()));
        message.set_field_by_number(NEW_NUMBER, Value::U64(u64::MAX));
        message.set_field_by_number(NEW_PART, Value::Message(part));
    })
}

/// The message with this enumeration, wherever it is in it, at a value that nobody here knows.
pub(crate) fn with_new_values(message_type: &str, message: &[u8], enumeration: &str) -> Vec<u8> {
    changed(message_type, message, &|message| {
        let of_it = |kind: Kind| matches!(kind, Kind::Enum(found) if found.name() == enumeration);
        let fields: Vec<_> = message.descriptor().fields().filter(|field| of_it(field.kind())).collect();
        for field in fields {
            message.set_field(&field, Value::EnumNumber(NEW_VALUE));
        }
    })
}

/// A message in which every choice is one that nobody here knows.
pub(crate) fn with_new_arms(message_type: &str, message: &[u8]) -> Vec<u8> {
    changed(message_type, message, &|message| {
        let arms: Vec<_> = message.descriptor().fields().filter(|field| field.number() >= NEW_ARM).collect();
        for arm in arms {
            message.set_field(&arm, Value::String("new".to_owned()));
        }
    })
}

fn changed(message_type: &str, message: &[u8], change: &impl Fn(&mut DynamicMessage)) -> Vec<u8> {
    let descriptor =
        NEWER.get_message_by_name(&format!("{PACKAGE}.{message_type}")).expect("a type of the API");
    let mut message = DynamicMessage::decode(descriptor, message).expect("it is what it says");
    change_all(&mut message, change);
    message.encode_to_vec()
}

/// Changes a message of the API and every part of it.
fn change_all(message: &mut DynamicMessage, change: &impl Fn(&mut DynamicMessage)) {
    if message.descriptor().package_name() != PACKAGE {
        return;
    }
    for (_, value) in message.fields_mut() {
        match value {
            Value::Message(part) => change_all(part, change),
            Value::List(items) => {
                items.iter_mut().filter_map(Value::as_message_mut).for_each(|part| change_all(part, change));
            }
            _ => {}
        }
    }
    change(message);
}

/// What a newer server makes of an answer of this one: method, then message.
type Change = fn(&str, &[u8]) -> Vec<Vec<u8>>;

/// A server of a newer release: this node, with everything it says changed.
pub(crate) struct NewerServer {
    pub(crate) address: SocketAddr,
    _serving: JoinSet<()>,
}

impl NewerServer {
    pub(crate) async fn in_front_of(node: SocketAddr, change: Change) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, node, change));
            }
        });
        Self { address, _serving: serving }
    }
}

async fn serve(stream: TcpStream, node: SocketAddr, change: Change) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let mut calls = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        calls.spawn(async move {
            // The caller may be gone.
            let _ = answer(request, respond, node, change).await;
        });
    }
}

async fn answer(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    node: SocketAddr,
    change: Change,
) -> Result<(), h2::Error> {
    let (head, mut body) = request.into_parts();
    let mut received = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        received.extend_from_slice(&data);
    }
    let mut metadata = HeaderMap::new();
    metadata
        .extend(head.headers.get("authorization").map(|token| (http::header::AUTHORIZATION, token.clone())));
    let metadata = MetadataMap::from_headers(metadata);
    // A frame is one byte of flags and four of length.
    let message = received.split_off(5).to_vec();
    let request = tonic::Request::from_parts(metadata, Extensions::default(), message);

    let mut client = tonic::client::Grpc::new(connect(node).await);
    client.ready().await.expect("the node is there");
    let path = http::uri::PathAndQuery::try_from(head.uri.path()).expect("it came in a request");
    let mut answers = match client.server_streaming(request, path, Raw).await {
        Ok(response) => response.into_inner(),
        Err(status) => {
            respond.send_response(status.into_http::<()>(), true)?;
            return Ok(());
        }
    };
    let head_of_answer = Response::builder().header("content-type", "application/grpc").body(());
    let mut send = respond.send_response(head_of_answer.expect("it is well-formed"), false)?;
    let method = head.uri.path().rsplit('/').next().unwrap_or_default();
    let end = loop {
        match answers.message().await {
            Ok(Some(message)) => {
                for message in change(method, &message) {
                    send.send_data(framed(&message), false)?;
                }
            }
            Ok(None) => break Status::ok(""),
            Err(status) => break status,
        }
    };
    let mut trailers = HeaderMap::new();
    end.add_header(&mut trailers).expect("a status fits into headers");
    send.send_trailers(trailers)
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).expect("messages are small"));
    frame.put_slice(message);
    frame.freeze()
}
