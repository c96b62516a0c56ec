//! Where telemetry goes: a collector that speaks OTLP over gRPC.

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{LogsService, LogsServiceServer};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::transport::server::{Router, TcpIncoming};
use tonic::{Request, Response, Status};

/// How a collector behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// It takes what it is sent.
    Takes,
    /// It accepts connections and calls, and never answers one.
    Hangs,
}

/// What a collector was sent.
#[derive(Clone, Default, Debug)]
pub struct Received {
    /// All spans.
    pub spans: Vec<Span>,
    /// All metrics, each as often as it was exported.
    pub metrics: Vec<Metric>,
    /// All log records.
    pub logs: Vec<LogRecord>,
    /// Every message, as bytes.
    pub bytes: Vec<u8>,
}

/// A collector on a thread of its own, until it is dropped: nothing that blocks the test's thread stops it.
#[derive(Debug)]
pub struct Collector {
    /// Where it listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Received>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// Starts one on a free port.
    #[must_use]
    pub fn start(manner: Manner) -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let service = Service { manner, received: Arc::clone(&received) };
        let (stop, stopped) = oneshot::channel();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        listener.set_nonblocking(true).expect("a listener need not block");
        let address = listener.local_addr().expect("a listener has an address");
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be made").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a runtime takes a listener");
                tokio::select! {
                    served = service.routes().serve_with_incoming(TcpIncoming::from(listener)) => {
                        served.expect("a collector serves");
                    }
                    _ = stopped => {}
                }
            });
        });
        Self { address, received, stop: Some(stop), thread: Some(thread) }
    }

    /// Its address as exporters take it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was sent so far.
    #[must_use]
    pub fn received(&self) -> Received {
        lock(&self.received).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A test that has failed already says more than this would.
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Service {
    manner: Manner,
    received: Arc<Mutex<Received>>,
}

impl Service {
    fn routes(self) -> Router {
        tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(self.clone()))
            .add_service(MetricsServiceServer::new(self.clone()))
            .add_service(LogsServiceServer::new(self))
    }

    /// Takes a message in, if that is its manner.
    async fn take(&self, bytes: Vec<u8>, add: impl FnOnce(&mut Received)) {
        if self.manner == Manner::Hangs {
            pending::<()>().await;
        }
        let mut received = lock(&self.received);
        received.bytes.extend(bytes);
        add(&mut received);
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let message = request.into_inner();
        let scopes = message.resource_spans.clone().into_iter().flat_map(|resource| resource.scope_spans);
        let spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
        self.take(message.encode_to_vec(), |received| received.spans.extend(spans)).await;
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Service {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let message = request.into_inner();
        let scopes = message.resource_metrics.clone().into_iter().flat_map(|resource| resource.scope_metrics);
        let metrics: Vec<Metric> = scopes.flat_map(|scope| scope.metrics).collect();
        self.take(message.encode_to_vec(), |received| received.metrics.extend(metrics)).await;
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Service {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let message = request.into_inner();
        let scopes = message.resource_logs.clone().into_iter().flat_map(|resource| resource.scope_logs);
        let logs: Vec<LogRecord> = scopes.flat_map(|scope| scope.log_records).collect();
        self.take(message.encode_to_vec(), |received| received.logs.extend(logs)).await;
        Ok(Response::new(Default::default()))
    }
}
