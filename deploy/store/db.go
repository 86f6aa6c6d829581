package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxConnections that read at once.
const maxConnections = 4

func (s *Store) indexPath() string { return filepath.Join(s.dir, IndexFile) }

// connect opens the file of the index, which is made if it is not there.
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

// errOutdated is what an index is that this program does not know.
var errOutdated = errors.New("it is of another version, or was not finished")

// openIndex opens an index that is complete and of this version.
func openIndex(ctx context.Context, path string) (*sql.DB, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, err
	}
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := examine(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// examine reads the version and a row of each table. This finds files that are not databases, and
// truncated ones. Deeper damage is found when it is read.
func examine(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != indexVersion {
		return errOutdated
	}
	for _, table := range []string{"state", "pending", "folders", "runs", "details", "points", "words"} {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+table+" LIMIT 1)").Scan(
			&n); err != nil {
			return err
		}
	}
	return nil
}

// createIndex makes an empty index. finishIndex sets its version. So an incomplete index is
// recognized.
func createIndex(ctx context.Context, path string) (*sql.DB, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	db, err := connect(path)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func finishIndex(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "PRAGMA optimize=0x10002"); err != nil { // the planner's statistics
		return err
	}
	_, err := db.ExecContext(ctx, "PRAGMA user_version="+strconv.Itoa(indexVersion))
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

// errDamaged is what the database finds out about itself.
var errDamaged = errors.New("the database does not hold together")

// damaged says that an index cannot be read any more.
func damaged(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		return true
	}
	return errors.Is(err, errDamaged)
}

// useless reports whether the opened index is not ours: also if tables or columns are missing.
func useless(err error) bool {
	return damaged(err) || code(err) == sqlite3.SQLITE_ERROR || errors.Is(err, errOutdated) ||
		errors.Is(err, fs.ErrNotExist)
}

// full reports whether the disk is full.
func full(err error) bool {
	return code(err) == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// told makes a sentence of an error of the database or the disk, which callers can tell by
// errors.Is.
func told(err error) error {
	if err != nil && full(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
