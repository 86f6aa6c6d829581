package store

import "github.com/eideticker/eideticker/deploy/store/database"

// indexVersion is that of the tables below. An index of another version is made anew, so a change
// here needs no more than another number.
const indexVersion = 2

// indexSchema is that of the file with the tables below.
var indexSchema = database.Schema{Version: indexVersion, SQL: schemaSQL,
	Tables: []string{"state", "pending", "folders", "runs", "details", "points", "words"}}

// Keys are rising numbers made of the time a run started, see keyOf. So "newest first" is
// the order in which a table lies, and a page's cursor is a key.
const schemaSQL = `
CREATE TABLE state (
	name TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;

-- Folders below runs/ with pending changes: they are read again when the store is opened.
CREATE TABLE pending (
	folder TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE folders (
	name TEXT PRIMARY KEY,
	key INTEGER NOT NULL, -- of its first run; 0: without runs
	alone INTEGER NOT NULL -- it is a run itself, not a set
) WITHOUT ROWID;
CREATE INDEX folders_key ON folders (alone, key);

CREATE TABLE runs (
	key INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	folder TEXT NOT NULL,
	alone INTEGER NOT NULL,
	test TEXT NOT NULL,
	device TEXT NOT NULL,
	browser TEXT NOT NULL,
	build TEXT NOT NULL,
	label TEXT NOT NULL,
	branch TEXT NOT NULL,
	revision TEXT NOT NULL,
	state TEXT NOT NULL,
	reason TEXT NOT NULL,
	warm_up INTEGER NOT NULL,
	started INTEGER NOT NULL,
	elapsed INTEGER NOT NULL,
	frames INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	pinned INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	base TEXT NOT NULL,
	stamp TEXT NOT NULL -- of the files that were read, see stampOf
);
CREATE INDEX runs_folder ON runs (folder, key);
CREATE INDEX runs_test ON runs (test, key);
CREATE INDEX runs_device ON runs (device, key);
CREATE INDEX runs_browser ON runs (browser, key);
CREATE INDEX runs_label ON runs (label, key);
CREATE INDEX runs_branch ON runs (branch, key);
CREATE INDEX runs_revision ON runs (revision, key);
CREATE INDEX runs_state ON runs (state, key);
CREATE INDEX runs_verdict ON runs (verdict, key);
CREATE INDEX runs_bytes ON runs (bytes);

-- Long texts, apart from the rows that are searched.
CREATE TABLE details (
	key INTEGER PRIMARY KEY,
	environment TEXT NOT NULL,
	run_values TEXT NOT NULL
);

-- One row per value of a run that counts, sets together and in the order of time.
CREATE TABLE points (
	measure TEXT NOT NULL,
	name TEXT NOT NULL,
	test TEXT NOT NULL,
	folder_key INTEGER NOT NULL,
	key INTEGER NOT NULL,
	place INTEGER NOT NULL,
	window TEXT NOT NULL,
	device TEXT NOT NULL,
	browser TEXT NOT NULL,
	branch TEXT NOT NULL,
	value REAL NOT NULL,
	low REAL NOT NULL,
	high REAL NOT NULL,
	unit TEXT NOT NULL,
	state TEXT NOT NULL,
	better TEXT NOT NULL,
	threshold REAL NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (measure, name, test, folder_key, key, place)
) WITHOUT ROWID;
CREATE INDEX points_key ON points (key);

-- Beginnings of words are indexed like words: else a search gathers all runs that match.
CREATE VIRTUAL TABLE words USING fts5 (
	text, content='', contentless_delete=1, prefix='1 2 3 4 5 6 7 8 9 10', tokenize='unicode61'
);
`
