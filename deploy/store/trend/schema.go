package trend

import "github.com/eideticker/eideticker/deploy/store/database"

// schema: a file of another version is made anew, so a change here needs a new number only.
var schema = database.Schema{
	Version: 2,
	Tables:  []string{"builds", "series", "sets", "points", "tiles", "changes", "alerts", "gaps"},
	SQL: `
CREATE TABLE builds (
	feed TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, revision TEXT NOT NULL, parent TEXT NOT NULL,
	wall INTEGER NOT NULL, url TEXT NOT NULL, sha256 TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
	PRIMARY KEY (feed, seq)
) WITHOUT ROWID;
CREATE INDEX builds_name ON builds (feed, name);

-- The threshold is that of the newest set. The last four columns follow from points.
CREATE TABLE series (
	id INTEGER PRIMARY KEY,
	schedule TEXT NOT NULL, test TEXT NOT NULL, win TEXT NOT NULL, measure TEXT NOT NULL, value TEXT NOT NULL,
	unit TEXT NOT NULL, better TEXT NOT NULL, version INTEGER NOT NULL, device TEXT NOT NULL, network TEXT NOT NULL,
	product TEXT NOT NULL, feed TEXT NOT NULL, role TEXT NOT NULL,
	threshold REAL NOT NULL DEFAULT 0, points INTEGER NOT NULL DEFAULT 0, first INTEGER NOT NULL DEFAULT 0,
	last INTEGER NOT NULL DEFAULT 0, latest REAL NOT NULL DEFAULT 0,
	UNIQUE (schedule, test, measure, value, win, device, network, unit, better, version, product, feed, role)
);

CREATE TABLE sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- The runs of one set, as JSON (see storedRun). Those of several sets of a build become one point
-- when they are read. Where bounds is 1, low and high are an interval.
CREATE TABLE points (
	series INTEGER NOT NULL, seq INTEGER NOT NULL, set_id INTEGER NOT NULL, build TEXT NOT NULL,
	wall INTEGER NOT NULL, n INTEGER NOT NULL, median REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
	bounds INTEGER NOT NULL, runs TEXT NOT NULL,
	PRIMARY KEY (series, seq, set_id)
) WITHOUT ROWID;
CREATE INDEX points_set ON points (set_id);

CREATE TABLE tiles (
	series INTEGER NOT NULL, level INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	points INTEGER NOT NULL, min REAL NOT NULL, median REAL NOT NULL, max REAL NOT NULL,
	PRIMARY KEY (series, level, first)
) WITHOUT ROWID;

-- The content of changes and alerts is JSON.
CREATE TABLE changes (
	id INTEGER PRIMARY KEY, series INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
	state TEXT NOT NULL, content TEXT NOT NULL
);
CREATE INDEX changes_series ON changes (series, id);
CREATE INDEX changes_state ON changes (state, id);
CREATE TABLE alerts (id INTEGER PRIMARY KEY, state TEXT NOT NULL, content TEXT NOT NULL);

CREATE TABLE gaps (
	schedule TEXT NOT NULL, seq INTEGER NOT NULL, test TEXT NOT NULL, device TEXT NOT NULL, build TEXT NOT NULL,
	reason TEXT NOT NULL,
	PRIMARY KEY (schedule, seq, test, device)
) WITHOUT ROWID;
`}
