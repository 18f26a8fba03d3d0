//! What is asked of the database.
//!
//! Invariants: a statement is all or nothing, and needs no transaction around it. A task is changed
//! only if it has the version that was read: of two that change it at once, one reads again. Whoever
//! locks several things locks them in this order, so that nobody waits for one another: nodes, tasks,
//! the total, tenants; of a kind those of one transaction at once without waiting, or sorted.

/// A task with its outcome.
pub(super) const GET: &str = "SELECT head, result, error FROM tasks WHERE id = $1";

/// A new task, if there is room for it: then one row.
///
/// Counts are exact whichever nodes create and end tasks. Their cost is that creations wait for one
/// another as long as one of them takes to be on disk, and so do the ends of one tenant's tasks: a
/// disk (or a synchronous standby) that needs a millisecond lets some hundreds of tasks begin in a
/// second, over all nodes.
pub(super) const CREATE: &str = "
WITH me AS MATERIALIZED (
    SELECT node FROM nodes WHERE node = $7 FOR KEY SHARE
), room AS MATERIALIZED (
    SELECT 1 FROM total WHERE tasks < $15 AND (SELECT count(*) FROM me) IS NOT NULL FOR UPDATE
), place AS (
    INSERT INTO tenants AS t (tenant, unfinished, tasks)
    SELECT $2::bytea, 1, 1 FROM room WHERE $16::bigint > 0 AND $17::bigint > 0
    ON CONFLICT (tenant) DO UPDATE SET unfinished = t.unfinished + 1, tasks = t.tasks + 1
        WHERE t.unfinished < $16 AND t.tasks < $17
    RETURNING 1
), counted AS (
    UPDATE total SET tasks = total.tasks + 1 FROM place
), task AS (
    INSERT INTO tasks
        (id, tenant, digest, is_final, due_at, ready_at, node, head, arguments, setup)
    SELECT $1, $2, $3, $4, $5, $6, (SELECT node FROM me), $8, $9, $10 FROM place
    RETURNING number
), segment AS (
    INSERT INTO journal (task, row, entries)
    SELECT number, $11::bigint, $12::bytea FROM task WHERE $12 IS NOT NULL
), kept AS (
    INSERT INTO records (task, key, value)
    SELECT number, key, value FROM task, unnest($13::bytea[], $14::bytea[]) AS new (key, value)
)
SELECT number FROM task";

/// Many new tasks of one node: as many of each tenant as there is room for, the first ones; none, if the
/// store has too little room for all. Gives which are there now, and whether their tenant has as many
/// unfinished ones as it may.
pub(super) const CREATE_ALL: &str = "
WITH me AS MATERIALIZED (
    SELECT node FROM nodes WHERE node = $1 FOR KEY SHARE
), room AS MATERIALIZED (
    SELECT 1 FROM total WHERE tasks + $2 <= $3 AND (SELECT count(*) FROM me) IS NOT NULL FOR UPDATE
), asked AS MATERIALIZED (
    SELECT * FROM unnest($4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[])
        AS asked (tenant, number, most, stored)
), place AS MATERIALIZED (
    INSERT INTO tenants AS t (tenant, unfinished, tasks, granted)
    SELECT tenant, least(number, most, stored), least(number, most, stored), least(number, most, stored)
    FROM asked, room ORDER BY tenant
    ON CONFLICT (tenant) DO UPDATE SET (unfinished, tasks, granted) = (
        SELECT t.unfinished + free, t.tasks + free, free FROM asked, greatest(
            0, least(number, most - t.unfinished, stored - t.tasks)
        ) AS free WHERE asked.tenant = t.tenant
    )
    RETURNING tenant, granted, unfinished
), new AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY tenant ORDER BY place) AS rank
    FROM unnest($8::bytea[], $9::bytea[], $10::text[], $11::boolean[], $12::bigint[], $13::bigint[],
        $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bytea[]) WITH ORDINALITY
        AS new (id, tenant, digest, is_final, due_at, ready_at, head, arguments, setup, row, entries,
            place)
), task AS MATERIALIZED (
    INSERT INTO tasks
        (id, tenant, digest, is_final, due_at, ready_at, node, head, arguments, setup)
    SELECT id, new.tenant, digest, is_final, due_at, ready_at, (SELECT node FROM me), head, arguments,
        setup
    FROM new JOIN place ON new.tenant = place.tenant AND rank <= granted ORDER BY new.place
    RETURNING number, id
), counted AS (
    UPDATE total SET tasks = tasks + (SELECT count(*) FROM task) FROM room
), segment AS (
    INSERT INTO journal (task, row, entries)
    SELECT number, row, entries FROM task JOIN new USING (id) WHERE entries IS NOT NULL
), kept AS (
    INSERT INTO records (task, key, value)
    SELECT number, key, value FROM task
    JOIN unnest($19::bytea[], $20::bytea[], $21::bytea[]) AS record (id, key, value) USING (id)
)
SELECT id, task.number IS NOT NULL, unfinished >= most
FROM new JOIN place USING (tenant) JOIN asked USING (tenant) LEFT JOIN task USING (id)";

/// The counts that stand in the way of a new task of a tenant.
pub(super) const COUNTS: &str = "
SELECT coalesce(unfinished, 0), coalesce(tenants.tasks, 0), total.tasks
FROM total LEFT JOIN tenants ON tenant = $1";

/// A task that is to be changed. `free`: the node may claim it.
pub(super) const READ: &str = "
SELECT number, version, head, node IS NULL OR coalesce(node = $2, false) OR EXISTS (
    SELECT FROM nodes WHERE nodes.node = tasks.node AND until <= $3
) AS free
FROM tasks WHERE id = $1";

/// Tasks that are to be ended.
pub(super) const READ_ALL: &str = "SELECT id, number, version, head FROM tasks WHERE id = ANY ($1)";

/// A change that does not end the task. Rows of its journal after `$7` go; the row `$8` is put
/// there. `$12`, if others are to hear of it, is what comes before the task in what they hear.
pub(super) const CHANGE: &str = "
WITH changed AS (
    UPDATE tasks SET version = version + 1, due_at = $3, ready_at = $4, head = $5,
        node = CASE WHEN $6 THEN NULL ELSE node END
    WHERE number = $1 AND version = $2
    RETURNING number, id
), cleared AS (
    DELETE FROM journal USING changed
    WHERE task = number AND row > $7 AND row IS DISTINCT FROM $8
), segment AS (
    INSERT INTO journal (task, row, entries)
    SELECT number, $8::bigint, $9::bytea FROM changed WHERE $9 IS NOT NULL
    ON CONFLICT (task, row) DO UPDATE SET entries = excluded.entries
), kept AS (
    INSERT INTO records (task, key, value)
    SELECT number, key, value FROM changed, unnest($10::bytea[], $11::bytea[]) AS new (key, value)
    ON CONFLICT (task, key) DO UPDATE SET value = excluded.value
)
SELECT number, CASE WHEN $12::text IS NOT NULL
    THEN pg_notify('cofferdam', $12 || encode(id, 'base64'))::text END
FROM changed";

/// The change that ends a task. `$7` as `$12` above.
pub(super) const END: &str = "
WITH changed AS (
    UPDATE tasks SET version = version + 1, is_final = true, due_at = $3, ready_at = NULL, head = $4,
        result = $5, error = $6, arguments = NULL, setup = NULL, node = NULL
    WHERE number = $1 AND version = $2
    RETURNING number, id, tenant
), counted AS (
    UPDATE tenants SET unfinished = unfinished - 1 FROM changed
    WHERE tenants.tenant = changed.tenant
), cleared AS (
    DELETE FROM journal USING changed WHERE task = number
), forgotten AS (
    DELETE FROM records USING changed WHERE task = number
)
SELECT number, pg_notify('cofferdam', $7 || encode(id, 'base64'))::text FROM changed";

/// The changes that end many tasks: gives those that had the versions that were read, as many at a time
/// as others hear of in one message (PostgreSQL's have up to 8000 bytes).
pub(super) const END_ALL: &str = "
WITH new AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
        AS new (number, version, due_at, head, result, error)
), locked AS MATERIALIZED (
    SELECT number FROM tasks WHERE number = ANY ($1) ORDER BY number FOR UPDATE
), changed AS MATERIALIZED (
    UPDATE tasks SET version = tasks.version + 1, is_final = true, due_at = new.due_at, ready_at = NULL,
        head = new.head, result = new.result, error = new.error, arguments = NULL, setup = NULL,
        node = NULL
    FROM new JOIN locked USING (number)
    WHERE tasks.number = new.number AND tasks.version = new.version
    RETURNING tasks.number, id, tenant
), less AS MATERIALIZED (
    SELECT t.tenant, ended FROM (SELECT tenant, count(*) AS ended FROM changed GROUP BY tenant) AS c
    JOIN tenants t ON t.tenant = c.tenant
    ORDER BY t.tenant FOR UPDATE OF t
), counted AS (
    UPDATE tenants t SET unfinished = unfinished - ended FROM less WHERE t.tenant = less.tenant
), cleared AS (
    DELETE FROM journal USING changed WHERE task = number
), forgotten AS (
    DELETE FROM records USING changed WHERE task = number
)
SELECT array_agg(number),
    pg_notify('cofferdam', $7 || string_agg(encode(id, 'base64'), ' '))::text
FROM (SELECT number, id, row_number() OVER () / 128 AS message FROM changed) AS told GROUP BY message";

/// A claim: what a run needs comes back. What is read is as the version says.
pub(super) const CLAIM: &str = "
WITH me AS (
    SELECT node FROM nodes WHERE node = $5 FOR KEY SHARE
), changed AS (
    UPDATE tasks SET version = version + 1, due_at = $3, ready_at = 0, head = $4,
        node = (SELECT node FROM me)
    WHERE number = $1 AND version = $2
    RETURNING number, arguments, setup
)
SELECT arguments, setup,
    ARRAY(SELECT entries FROM journal WHERE task = number ORDER BY row),
    ARRAY(SELECT key FROM records WHERE task = number ORDER BY key),
    ARRAY(SELECT value FROM records WHERE task = number ORDER BY key)
FROM changed";

/// Ends the leases that are over; what was held under them is free (`ON DELETE SET NULL`). All nodes
/// hear of it.
pub(super) const END_LEASES: &str = "
WITH ended AS (
    DELETE FROM nodes WHERE node IN (
        SELECT node FROM nodes WHERE until <= $1 ORDER BY node FOR UPDATE SKIP LOCKED
    ) RETURNING node
)
SELECT pg_notify('cofferdam', 'gone')::text FROM ended LIMIT 1";

/// Ends one lease.
pub(super) const RETIRE: &str = "
WITH ended AS (
    DELETE FROM nodes WHERE node = $1 RETURNING node
)
SELECT pg_notify('cofferdam', 'gone')::text FROM ended";

/// Makes a node hold what is due. It locks the node first: its lease does not end meanwhile.
pub(super) const TAKE_DUE: &str = "
WITH me AS MATERIALIZED (
    SELECT node FROM nodes WHERE node = $1 FOR KEY SHARE
), due AS MATERIALIZED (
    SELECT number FROM tasks
    WHERE ready_at <= $2 AND node IS NULL AND digest <> ALL ($4) AND EXISTS (SELECT FROM me)
    ORDER BY ready_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
UPDATE tasks SET node = $1, version = version + 1 FROM due WHERE tasks.number = due.number
RETURNING ready_at, id, tenant";

/// When a task is due, and when the lease of another node is over.
pub(super) const NEXT_DUE: &str = "
SELECT
    (SELECT ready_at FROM tasks
        WHERE ready_at IS NOT NULL AND node IS NULL AND digest <> ALL ($2)
        ORDER BY ready_at LIMIT 1),
    (SELECT min(until) FROM nodes WHERE node <> $1)";

/// The time of the database, milliseconds since the Unix epoch.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

pub(super) const ABOUT: &str = concat!("SELECT current_setting('server_encoding'), ", now!());

pub(super) const RENEW: &str = concat!(
    "UPDATE nodes SET until = $2 WHERE node = $1 RETURNING ",
    now!()
);

pub(super) const NEW_LEASE: &str = "
INSERT INTO nodes (node, until) VALUES ($1, $2)
ON CONFLICT (node) DO UPDATE SET until = excluded.until";

pub(super) const RELEASE: &str = "UPDATE tasks SET node = NULL WHERE id = $1 AND node = $2";

pub(super) const UNFINISHED: &str = "SELECT id, ready_at FROM tasks WHERE ready_at IS NOT NULL";

/// How many tasks there are in each state.
pub(super) const STATES: &str = "SELECT head::json ->> 'status', count(*) FROM tasks GROUP BY 1";

pub(super) const DIGESTS: &str = "SELECT DISTINCT digest FROM tasks WHERE NOT is_final";

/// Whether the sweep has something to do.
pub(super) const SWEEP_DUE: &str = "SELECT FROM tasks WHERE due_at <= $1 LIMIT 1";

/// Locks what the sweep must look at and nobody else is at. Of a final task nothing is to be decided.
pub(super) const SWEEP: &str = "
SELECT number, id, tenant, is_final, CASE WHEN NOT is_final THEN head END FROM tasks
WHERE due_at <= $1 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED";

/// The same, of final tasks only.
pub(super) const SWEEP_FINAL: &str = "
SELECT number, tenant FROM tasks
WHERE due_at <= $1 AND is_final ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED";

/// Removes final tasks, which have nothing beside them.
pub(super) const REMOVE: &str = "DELETE FROM tasks WHERE number = ANY ($1)";

/// Changes tasks that are locked. `$7` as `$12` of [`CHANGE`].
pub(super) const CHANGE_ALL: &str = "
WITH changed AS (
    UPDATE tasks SET version = version + 1, is_final = new.is_final, due_at = new.due_at,
        ready_at = new.ready_at, head = new.head, error = new.error, node = NULL,
        arguments = CASE WHEN new.is_final THEN NULL ELSE arguments END,
        setup = CASE WHEN new.is_final THEN NULL ELSE setup END
    FROM unnest($1::bigint[], $2::boolean[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
        AS new (number, is_final, due_at, ready_at, head, error)
    WHERE tasks.number = new.number
    RETURNING id
)
SELECT pg_notify('cofferdam', $7 || encode(id, 'base64'))::text FROM changed";

pub(super) const CLEAR_JOURNALS: &str = "DELETE FROM journal WHERE task = ANY ($1)";

pub(super) const CLEAR_RECORDS: &str = "DELETE FROM records WHERE task = ANY ($1)";

pub(super) const UNCOUNT_TOTAL: &str = "UPDATE total SET tasks = tasks - $1";

/// Takes from the counts of tenants, which it locks in their order.
pub(super) const UNCOUNT_TENANTS: &str = "
WITH less AS MATERIALIZED (
    SELECT t.tenant, ended, removed
    FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]) AS l (tenant, ended, removed)
    JOIN tenants t ON t.tenant = l.tenant
    ORDER BY t.tenant FOR UPDATE OF t
)
UPDATE tenants t SET unfinished = unfinished - ended, tasks = tasks - removed
FROM less WHERE t.tenant = less.tenant";

/// Removes the counts of tenants that have no tasks.
pub(super) const CLEAR_TENANTS: &str = "
DELETE FROM tenants WHERE tenant IN (
    SELECT tenant FROM tenants WHERE tasks = 0 ORDER BY tenant FOR UPDATE SKIP LOCKED
)";

/// Removes a task, whatever it is.
pub(super) const FORGET: &str =
    "DELETE FROM tasks WHERE id = $1 RETURNING number, tenant, is_final";

pub(super) const LISTEN: &str = "LISTEN cofferdam";

pub(super) const SAY: &str =
    "SELECT pg_notify('cofferdam', $1 || $2 || message) FROM unnest($3::text[]) AS message";

pub(super) const PROMISE: &str =
    "UPDATE components SET needed_until = greatest(needed_until, $2) WHERE digest = $1";

pub(super) const KEEP: &str = "
INSERT INTO components AS c (digest, needed_until, bytes) VALUES ($1, $2, $3)
ON CONFLICT (digest) DO UPDATE SET needed_until = greatest(c.needed_until, excluded.needed_until)";

pub(super) const COMPONENT: &str = "SELECT bytes FROM components WHERE digest = $1";

/// Removes components that were promised to nobody, and that nothing unfinished runs.
pub(super) const CLEAR_COMPONENTS: &str = "
DELETE FROM components c WHERE needed_until < $1
    AND NOT EXISTS (SELECT FROM tasks WHERE NOT is_final AND tasks.digest = c.digest)";

pub(super) const NEW_KEY: &str =
    "INSERT INTO keys (number, key) VALUES (1, $1) ON CONFLICT DO NOTHING";

pub(super) const KEY: &str = "SELECT key FROM keys WHERE number = 1";
