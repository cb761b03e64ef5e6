//! Blobs: all calls may be repeated, but a removal must read first what it removes.

use crate::forward::forward;

use super::Shared;

forward! {
    BlobStore for Shared: put_blob blob read_blob blobs prune_blobs;
    {
        async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
            let blobs = self.inner().require_blobs()?;
            let before = self.look(|| blobs.blob(chat, id)).await?.flatten();
            let mut tries = self.tries();
            loop {
                match (blobs.remove_blob(chat, id).await, &before) {
                    (Ok(pruned), Some(blob)) if tries.lost() && pruned.references == 0 => {
                        let last = blob.references <= 1;
                        let mut pruned = BlobsPruned::default();
                        pruned.references = 1;
                        (pruned.blobs, pruned.bytes) = if last { (1, blob.bytes) } else { (0, 0) };
                        return Ok(pruned);
                    }
                    (Ok(pruned), _) => return Ok(pruned),
                    (Err(error), _) => tries.failed(error).await?,
                }
            }
        }
    }
}
