//! Both faces of an object, from one list of its operations.

/// Writes a blocking class and a class for asyncio over a type of operations. Each entry names an
/// async method of that type, whose arguments are owned. The blocking method waits for it; the
/// asyncio method returns an awaitable that runs it.
macro_rules! faces {
    (
        $operations:ty => $blocking:ident, $asyncio:ident;
        both { $($common:tt)* }
        blocking { $($only_blocking:tt)* }
        asyncio { $($only_asyncio:tt)* }
        $($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*
    ) => {
        #[doc = concat!("The blocking face of [`", stringify!($operations), "`].")]
        #[pyo3::pyclass(frozen, module = "context_layer._native")]
        pub(crate) struct $blocking {
            pub(crate) operations: std::sync::Arc<$operations>,
        }

        #[doc = concat!("The asyncio face of [`", stringify!($operations), "`].")]
        #[pyo3::pyclass(frozen, module = "context_layer._native")]
        pub(crate) struct $asyncio {
            pub(crate) operations: std::sync::Arc<$operations>,
        }

        #[pyo3::pymethods]
        impl $blocking {
            $($common)*
            $($only_blocking)*
            $(
                $(#[$attribute])*
                fn $name(
                    &self,
                    py: pyo3::Python<'_>,
                    $($argument: $type),*
                ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                    let operations = std::sync::Arc::clone(&self.operations);
                    let work = async move { operations.$name($($argument),*).await };
                    crate::bridge::wait(py, crate::bridge::Face::Blocking, work)
                }
            )*
        }

        #[pyo3::pymethods]
        impl $asyncio {
            $($common)*
            $($only_asyncio)*
            $(
                $(#[$attribute])*
                fn $name(
                    &self,
                    py: pyo3::Python<'_>,
                    $($argument: $type),*
                ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                    let operations = std::sync::Arc::clone(&self.operations);
                    let work = async move { operations.$name($($argument),*).await };
                    crate::bridge::start(py, work)
                }
            )*
        }
    };
}
