//! Connections that serve one request at a time.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) struct Pool<T> {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<T>>>,
}

/// A connection that is put back when it is dropped.
pub(super) struct Taken<T> {
    connection: Option<T>,
    idle: Arc<Mutex<Vec<T>>>,
    _permit: OwnedSemaphorePermit,
}

impl<T> Pool<T> {
    pub(super) fn new(connections: Vec<T>) -> Self {
        let permits = Arc::new(Semaphore::new(connections.len()));
        Self { permits, idle: Arc::new(Mutex::new(connections)) }
    }

    pub(super) async fn take(&self) -> Taken<T> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.unwrap();
        let connection = self.idle.lock().unwrap().pop();
        Taken { connection, idle: Arc::clone(&self.idle), _permit: permit }
    }
}

impl<T> Deref for Taken<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.connection.as_ref().unwrap()
    }
}

impl<T> DerefMut for Taken<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.connection.as_mut().unwrap()
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        self.idle.lock().unwrap().extend(self.connection.take());
    }
}
