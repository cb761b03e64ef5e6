//! The traits stay usable as trait objects: a generic method or a `Self` by value would not compile
//! here.

use context_core::fragment::FragmentCodec;
use context_core::store::{FragmentStore, HistoryStore, Maintenance};
use context_core::{Clock, IdGenerator, Renderer, Store};

#[test]
fn every_seam_is_object_safe() {
    fn object<T: ?Sized + Send + Sync>() -> usize {
        size_of::<&T>()
    }
    let fat = 2 * size_of::<usize>();
    assert_eq!(object::<dyn Store>(), fat);
    assert_eq!(object::<dyn HistoryStore>(), fat);
    assert_eq!(object::<dyn FragmentStore>(), fat);
    assert_eq!(object::<dyn Maintenance>(), fat);
    assert_eq!(object::<dyn Renderer>(), fat);
    assert_eq!(object::<dyn FragmentCodec>(), fat);
    assert_eq!(object::<dyn Clock>(), fat);
    assert_eq!(object::<dyn IdGenerator>(), fat);
}
