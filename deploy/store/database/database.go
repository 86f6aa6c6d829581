// Package database opens SQLite files that are indexes of other files. A file that cannot be used
// is made anew. So no file is ever migrated.
package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Schema is the content of a file.
type Schema struct {
	Version int // in the file once it is complete
	SQL     string
	Tables  []string // that Open looks at
}

// maxConnections that read at once.
const maxConnections = 4

// connect opens a file, which is made if it is not there.
func connect(path string) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(10000)", "foreign_keys(OFF)", "cache_size(-8000)",
		"journal_size_limit(8388608)",
	}}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	return db, nil
}

// ErrDamaged is an inconsistent database.
var ErrDamaged = errors.New("the database does not hold together")

// errOutdated is the error of a file that this program does not know.
var errOutdated = errors.New("it is of another version, or was not finished")

// Open opens a file that is complete and of this version.
func (s Schema) Open(ctx context.Context, path string) (*sql.DB, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, err
	}
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := s.examine(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// examine reads the version and a row of each table. This finds files that are not databases, and
// truncated ones. Deeper damage is found when it is read.
func (s Schema) examine(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != s.Version {
		return errOutdated
	}
	for _, table := range s.Tables {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+table+" LIMIT 1)").Scan(
			&n); err != nil {
			return err
		}
	}
	return nil
}

// Create makes an empty file, and removes an existing one. Finish sets its version. So an
// incomplete file is recognized.
func (s Schema) Create(ctx context.Context, path string) (*sql.DB, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, s.SQL); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Finish marks a file as complete.
func (s Schema) Finish(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "PRAGMA optimize=0x10002"); err != nil { // the planner's statistics
		return err
	}
	_, err := db.ExecContext(ctx, "PRAGMA user_version="+strconv.Itoa(s.Version))
	return err
}

// Update has work done in a transaction.
func Update(ctx context.Context, db *sql.DB, work func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err = work(tx); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		_ = tx.Rollback() // what matters is why
	}
	return err
}

// code is SQLite's primary result code, 0 for other errors.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// Damaged reports whether a file cannot be read any more.
func Damaged(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return true
	}
	return errors.Is(err, ErrDamaged)
}

// Useless reports whether an error of Open is that of a file to make anew: also if it, tables or
// columns are missing.
func Useless(err error) bool {
	return Damaged(err) || code(err) == sqlite3.SQLITE_ERROR || errors.Is(err, errOutdated) ||
		errors.Is(err, fs.ErrNotExist)
}

// Full reports whether the disk is full.
func Full(err error) bool {
	return code(err) == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
