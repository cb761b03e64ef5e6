//! Statements for servers with the extension pgvector. `@` stands for its schema.

/// The schema of the extension if it is installed, whether it could be installed, whether table $1
/// exists, and whether this role may use it.
pub(crate) const STATE: &str = "SELECT (
      SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'),
    EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector'), to_regclass($1) IS NOT NULL,
    coalesce(has_table_privilege(to_regclass($1), 'SELECT') AND has_table_privilege(to_regclass($1), 'INSERT'), false)";

/// The extension belongs to the whole database, so it is not in the schema of the store.
pub(crate) const CREATE_EXTENSION: &str = "CREATE EXTENSION IF NOT EXISTS vector";

/// Run with the schema as the search path.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS memory_pgvector (
    place bigint PRIMARY KEY REFERENCES memory_vector (place) ON DELETE CASCADE,
    unit @vector NOT NULL);";

/// Adds the vectors at places $2. Each is the range $3 to $4 of the numbers $1.
pub(crate) const ADD: &str = "INSERT INTO #memory_pgvector (place, unit)
    SELECT i.place, (($1::real[])[i.first:i.last])::@vector FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) i (place, first, last)";

/// The $6 vectors nearest to $5 among the newest $4, and those of the newest that are not in the
/// table. If no vector can be compared with $5, all are returned.
pub(crate) const NEAREST: &str = "WITH newest AS MATERIALIZED (
      SELECT n.place FROM unnest($1::bigint[]) s (shelf) CROSS JOIN LATERAL (
        SELECT place FROM #memory_vector v WHERE v.shelf = s.shelf AND v.model = $2 AND v.length = $3 ORDER BY place DESC LIMIT $4) n
      ORDER BY n.place DESC LIMIT $4),
    near AS (
      SELECT p.place FROM newest n CROSS JOIN LATERAL (SELECT * FROM #memory_pgvector p WHERE p.place = n.place OFFSET 0) p
      WHERE $5::real[] IS NOT NULL ORDER BY p.unit OPERATOR(@<=>) ($5::real[])::@vector, p.place DESC LIMIT $6)
    SELECT v.place, v.data FROM (
      SELECT place FROM near
      UNION ALL
      SELECT place FROM newest n WHERE $5::real[] IS NULL OR NOT EXISTS (SELECT FROM #memory_pgvector p WHERE p.place = n.place)) n
    CROSS JOIN LATERAL (SELECT place, data FROM #memory_vector v WHERE v.place = n.place OFFSET 0) v";
