//! Statements for servers with the extension pgvector. `@` stands for its schema.

/// The schema of the extension if it is there, whether it could be, whether there is the table $1,
/// and whether this role may use it.
pub(crate) const FOUND: &str = "SELECT (
      SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'),
    EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector'), to_regclass($1) IS NOT NULL,
    coalesce(has_table_privilege(to_regclass($1), 'SELECT') AND has_table_privilege(to_regclass($1), 'INSERT'), false)";

/// For all of the database, so not in the schema of the store.
pub(crate) const CREATE_EXTENSION: &str = "CREATE EXTENSION IF NOT EXISTS vector";

/// With the schema as the search path.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS memory_pgvector (
    place bigint PRIMARY KEY REFERENCES memory_vector (place) ON DELETE CASCADE,
    unit @vector NOT NULL);";

/// The numbers $1 from $3 to $4 for each of the places $2.
pub(crate) const ADD: &str = "INSERT INTO #memory_pgvector (place, unit)
    SELECT i.place, (($1::real[])[i.first:i.last])::@vector FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) i (place, first, last)";

/// The $6 of the newest $4 vectors that are nearest to $5, and those of the newest that are not in
/// the table: all, if nothing is near to $5.
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
