package trend

import "github.com/eideticker/eideticker/deploy/store/database"

// schema: a file of another version is made anew, so a change here needs a new number only. Rows
// are JSON. Generated columns have the fields that queries need.
var schema = database.Schema{
	Version: 5,
	Tables:  []string{"builds", "series", "sets", "points", "tiles", "changes", "alerts", "gaps", "splits", "removed"},
	SQL: `
CREATE TABLE builds (content TEXT NOT NULL, feed AS (content->>'feed') STORED, seq AS (content->>'seq') STORED,
	name AS (content->>'build') STORED, revision AS (content->>'revision'));
CREATE UNIQUE INDEX builds_seq ON builds (feed, seq);
CREATE INDEX builds_name ON builds (feed, name);

-- The key is a SeriesKey. The threshold is that of the newest set. The next columns follow from points.
CREATE TABLE series (
	id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
	threshold REAL NOT NULL DEFAULT 0, points INTEGER NOT NULL DEFAULT 0, first INTEGER NOT NULL DEFAULT 0,
	last INTEGER NOT NULL DEFAULT 0, latest REAL NOT NULL DEFAULT 0,
	schedule AS (key->>'schedule') STORED, test AS (key->>'test') STORED, win AS (key->>'window') STORED,
	measure AS (key->>'measure') STORED, value AS (key->>'value') STORED, unit AS (key->>'unit') STORED,
	version AS (key->>'version') STORED, device AS (key->>'device') STORED, network AS (key->>'network') STORED,
	feed AS (key->>'feed') STORED, role AS (key->>'role') STORED,
	generation AS (coalesce(key->>'generation', 0)) STORED
);
CREATE INDEX series_test ON series (schedule, test, measure, value);

-- The split is the newest one when the set was added first.
CREATE TABLE sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, split INTEGER NOT NULL);

-- The runs of one set, as JSON (see storedRun). Those of several sets of a build become one point
-- when they are read.
CREATE TABLE points (
	series INTEGER NOT NULL, seq INTEGER NOT NULL, set_id INTEGER NOT NULL, build TEXT NOT NULL,
	wall INTEGER NOT NULL, runs TEXT NOT NULL,
	PRIMARY KEY (series, seq, set_id)
) WITHOUT ROWID;
CREATE INDEX points_set ON points (set_id);

CREATE TABLE tiles (
	series INTEGER NOT NULL, level INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	points INTEGER NOT NULL, min REAL NOT NULL, median REAL NOT NULL, max REAL NOT NULL,
	PRIMARY KEY (series, level, first)
) WITHOUT ROWID;

CREATE TABLE changes (content TEXT NOT NULL, id AS (content->>'change') STORED,
	series AS (content->>'series') STORED, first AS (content->>'first_seq'), last AS (content->>'last_seq'),
	state AS (content->>'state') STORED);
CREATE UNIQUE INDEX changes_id ON changes (id);
CREATE INDEX changes_series ON changes (series, id);
CREATE INDEX changes_state ON changes (state, id);
CREATE TABLE alerts (content TEXT NOT NULL, id AS (content->>'alert') STORED, state AS (content->>'state'));
CREATE UNIQUE INDEX alerts_id ON alerts (id);

CREATE TABLE gaps (content TEXT NOT NULL, schedule AS (content->>'schedule') STORED, seq AS (content->>'seq') STORED,
	test AS (content->>'test') STORED, device AS (content->>'device') STORED);
CREATE UNIQUE INDEX gaps_seq ON gaps (schedule, seq, test, device);

-- Sets and runs whose points a person removed. Additions leave them out.
CREATE TABLE removed (content TEXT NOT NULL, name AS (content->>'name') STORED);
CREATE UNIQUE INDEX removed_name ON removed (name);

CREATE TABLE splits (id INTEGER PRIMARY KEY, content TEXT NOT NULL, schedule AS (content->>'schedule') STORED,
	test AS (content->>'test') STORED, device AS (content->>'device') STORED, wall AS (content->>'wall_ns') STORED);
CREATE UNIQUE INDEX splits_wall ON splits (schedule, test, device, wall);
`}
