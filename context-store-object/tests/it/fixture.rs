//! A service in memory that counts requests, fails them as planned, and lets other tasks run
//! between them.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use context_core::base::BlobId;
use context_core::store::{Blob, BlobsPruned, Durability, NewBlob, NewChat};
use context_core::{CancelSignal, ChatRef, Result, Store, Timestamp};
use context_store_object::object_store::memory::InMemory;
use context_store_object::object_store::path::Path;
use context_store_object::object_store::{
    self as native, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use context_store_object::{ObjectBlobs, ObjectConfig};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Notify;

/// What happens to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// None fails.
    None,
    /// From this request on, none arrives: the process is dead.
    DeadFrom(usize),
    /// This request is carried out, and its answer is lost, with all that follow.
    AnswerLost(usize),
    /// This request alone is refused.
    Refused(usize),
    /// The caller stops before this request, until it is released.
    StopsAt(usize),
}

/// A service whose requests can fail. The objects outlive it.
#[derive(Clone, Debug)]
pub(crate) struct FaultyService(Arc<State>);

#[derive(Debug)]
struct State {
    objects: Arc<InMemory>,
    fault: Mutex<Fault>,
    requests: AtomicUsize,
    /// The state of random pauses. 0 for none.
    pauses: AtomicU64,
    stopped: Notify,
    released: Notify,
}

impl fmt::Display for FaultyService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyService")
    }
}

impl FaultyService {
    pub(crate) fn over(objects: &Arc<InMemory>) -> Arc<Self> {
        Self::pausing(objects, 0)
    }

    pub(crate) fn pausing(objects: &Arc<InMemory>, seed: u64) -> Arc<Self> {
        Arc::new(Self(Arc::new(State {
            objects: Arc::clone(objects),
            fault: Mutex::new(Fault::None),
            requests: AtomicUsize::new(0),
            pauses: AtomicU64::new(seed),
            stopped: Notify::new(),
            released: Notify::new(),
        })))
    }

    /// Plans a fault, and counts requests from 0 again.
    pub(crate) fn plan(&self, fault: Fault) {
        *self.0.fault.lock().unwrap() = fault;
        self.0.requests.store(0, Ordering::Relaxed);
    }

    fn plan_rest(&self) {
        *self.0.fault.lock().unwrap() = Fault::None;
    }

    pub(crate) fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Waits until the caller stops as planned.
    pub(crate) async fn stopped(&self) {
        self.0.stopped.notified().await;
    }

    /// Lets the caller go on.
    pub(crate) fn release(&self) {
        self.0.released.notify_one();
    }

    /// Stops as planned, and lets other tasks run for a random while.
    async fn pause(&self) {
        let stops =
            matches!(*self.0.fault.lock().unwrap(), Fault::StopsAt(at) if at == self.requests());
        if stops {
            self.plan_rest();
            self.0.stopped.notify_one();
            self.0.released.notified().await;
        }
        let mut state = self.0.pauses.load(Ordering::Relaxed);
        if state == 0 {
            return;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0.pauses.store(state | 1, Ordering::Relaxed);
        // Now and then long enough for whole calls of other tasks.
        let longest = if (state >> 60) == 0 { 300 } else { 7 };
        for _ in 0..(state >> 33) % longest {
            tokio::task::yield_now().await;
        }
    }

    /// Counts a request. Returns whether it is carried out, and whether it is answered.
    fn count(&self) -> (bool, bool) {
        let number = self.0.requests.fetch_add(1, Ordering::Relaxed);
        match *self.0.fault.lock().unwrap() {
            Fault::None | Fault::StopsAt(_) => (true, true),
            Fault::DeadFrom(from) => (number < from, number < from),
            Fault::AnswerLost(at) => (number <= at, number < at),
            Fault::Refused(at) => (number != at, number != at),
        }
    }

    async fn request<T>(&self, call: impl Future<Output = native::Result<T>>) -> native::Result<T> {
        self.pause().await;
        let (carried_out, answered) = self.count();
        if !carried_out {
            return Err(gone());
        }
        let done = call.await;
        self.pause().await;
        if answered { done } else { Err(gone()) }
    }
}

fn gone() -> native::Error {
    native::Error::Generic { store: "test", source: "503 SlowDown".into() }
}

#[async_trait]
impl ObjectStore for FaultyService {
    async fn put_opts(
        &self,
        at: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> native::Result<PutResult> {
        self.request(self.0.objects.put_opts(at, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        options: PutMultipartOptions,
    ) -> native::Result<Box<dyn MultipartUpload>> {
        self.request(self.0.objects.put_multipart_opts(at, options)).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> native::Result<GetResult> {
        self.request(self.0.objects.get_opts(at, options)).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, native::Result<Path>>,
    ) -> BoxStream<'static, native::Result<Path>> {
        let service = self.clone();
        let deleted = async move {
            let paths: Vec<_> = paths.collect().await;
            let (mut carried_out, mut answered) = (true, true);
            let mut done = Vec::new();
            // One request for each object, as if the service died between two of them.
            for path in paths {
                service.pause().await;
                (carried_out, answered) = service.count();
                if !carried_out {
                    break;
                }
                let one = stream::iter([path]).boxed();
                done.extend(service.0.objects.delete_stream(one).collect::<Vec<_>>().await);
            }
            if !carried_out || !answered {
                done.push(Err(gone()));
            }
            stream::iter(done)
        };
        stream::once(deleted).flatten().boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, native::Result<ObjectMeta>> {
        let (service, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            service.pause().await;
            let listed = match service.count() {
                (true, true) => service.0.objects.list(prefix.as_ref()).collect().await,
                _ => vec![Err(gone())],
            };
            service.pause().await;
            stream::iter(listed)
        };
        stream::once(listed).flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> native::Result<ListResult> {
        self.request(self.0.objects.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> native::Result<()> {
        self.request(self.0.objects.copy_opts(from, to, options)).await
    }
}

/// A store of blobs with the calls that tests make.
pub(crate) struct BlobFixture(pub(crate) ObjectBlobs);

pub(crate) fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(crate) fn chat(name: &str) -> ChatRef {
    ChatRef::new("ada", name)
}

impl BlobFixture {
    pub(crate) async fn over(service: Arc<dyn ObjectStore>) -> Self {
        let config = ObjectConfig::over(service, Durability::PowerLoss).prefix("test/blobs");
        Self(ObjectBlobs::open(config).await.unwrap())
    }

    pub(crate) async fn create(&self, name: &str) -> Result<()> {
        let mut new = NewChat::new(chat(name), at(1));
        new.metadata = context_core::Metadata::default().with("chat", name);
        self.0.history().create_chat(new).await.map(drop)
    }

    pub(crate) async fn put(&self, name: &str, bytes: &Bytes, micros: i64) -> Result<Blob> {
        let new = NewBlob::new(bytes.clone(), at(micros)).media_type("text/plain");
        self.0.blobs().unwrap().put_blob(&chat(name), new).await
    }

    pub(crate) async fn read(&self, name: &str, bytes: &Bytes) -> Result<Option<Bytes>> {
        self.read_range(name, bytes, 0..u64::MAX, None).await
    }

    pub(crate) async fn read_range(
        &self,
        name: &str,
        bytes: &Bytes,
        range: Range<u64>,
        used: Option<i64>,
    ) -> Result<Option<Bytes>> {
        let id = BlobId::of(bytes);
        self.0.blobs().unwrap().read_blob(&chat(name), &id, range, used.map(at)).await
    }

    pub(crate) async fn blob(&self, name: &str, bytes: &Bytes) -> Result<Option<Blob>> {
        self.0.blobs().unwrap().blob(&chat(name), &BlobId::of(bytes)).await
    }

    pub(crate) async fn remove(&self, name: &str, bytes: &Bytes) -> Result<BlobsPruned> {
        self.0.blobs().unwrap().remove_blob(&chat(name), &BlobId::of(bytes)).await
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<bool> {
        self.0.history().delete_chat(&chat(name), None).await
    }

    pub(crate) async fn vacuum(&self) -> Result<()> {
        self.0.maintenance().unwrap().vacuum().await.map(drop)
    }

    pub(crate) async fn findings(&self) -> Vec<String> {
        let check = self.0.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        check.findings.iter().map(ToString::to_string).collect()
    }
}

/// Returns the keys of all objects, without what precedes the names of this store.
pub(crate) async fn keys(objects: &InMemory) -> Vec<String> {
    let all: Vec<_> = objects.list(None).map(|meta| meta.unwrap().location).collect().await;
    all.iter().map(|key| key.to_string()).collect()
}
