package trend

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/database"
)

// Folders of sets in the data directory.
const (
	RunsDir  = "runs"
	lightDir = "fleet/light" // of a hub: RIG/JOB.N; with slashes
)

// DB is the file of trends. Its methods may be called from several goroutines.
type DB struct {
	// Changed is called after points, a change or an alert changed. Set it before other calls. It may
	// be nil.
	Changed func(what string, id int64)

	path    string
	log     *slog.Logger
	writing sync.Mutex // held by writers
	journal *journal

	mu sync.RWMutex // guards db: held for reading while it is used
	db *sql.DB      // nil: closed
}

// Open opens a file, and makes a missing, older or broken one anew. The folders of runs, also
// those of a hub's rigs, and the journal lie beside it.
func Open(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &DB{path: path, log: log}
	var err error
	if d.journal, err = openJournal(strings.TrimSuffix(path, filepath.Ext(path)) + ".jsonl"); err != nil {
		return nil, fmt.Errorf("open trends: %w", err)
	}
	if d.db, err = schema.Open(ctx, path); database.Useless(err) {
		err = d.rebuild(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open trends %s: %w", path, errors.Join(err, d.Close()))
	}
	return d, nil
}

// OpenReader opens a file to read it beside the program that writes it.
func OpenReader(ctx context.Context, path string) (*DB, error) {
	db, err := schema.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open trends %s: %w", path, err)
	}
	return &DB{path: path, log: slog.New(slog.DiscardHandler), db: db}, nil
}

// Close is idempotent.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.journal.close()
	if d.db != nil {
		err = errors.Join(err, d.db.Close())
		d.db = nil
	}
	return err
}

// rebuild makes the file anew from the journal and the folders of runs. Nobody uses the old one.
func (d *DB) rebuild(ctx context.Context) error {
	db, err := schema.Create(ctx, d.path)
	if err != nil {
		return err
	}
	sets := 0
	err = d.transact(ctx, db, func(w *writer) (err error) {
		if err = d.journal.replay(w, d.log); err == nil {
			sets, err = d.addFolders(w)
		}
		if err != nil || len(w.added) > 0 {
			return err
		}
		return d.journal.append(w.lines) // it had no sets
	})
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = schema.Finish(ctx, db)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if d.db = db; sets > 0 {
		d.log.Info("the file of trends was made anew", "sets", sets)
	}
	return nil
}

// addFolders adds the sets that are points and were added before; without a known one, all sets.
// Those that cannot be read are logged and left out.
func (d *DB) addFolders(w *writer) (sets int, err error) {
	data, touched := filepath.Dir(d.path), places{}
	for _, name := range d.folders(RunsDir) {
		more, err := d.addFolder(w, name, filepath.Join(data, RunsDir, name), Read, touched)
		if sets += more; err != nil {
			return sets, err
		}
	}
	for _, rig := range d.folders(lightDir) {
		if strings.HasPrefix(rig, ".") {
			continue // it is being received
		}
		for _, name := range d.folders(lightDir + "/" + rig) {
			folder := filepath.Join(data, filepath.FromSlash(lightDir), rig, name)
			more, err := d.addFolder(w, rig+"/"+name, folder, ReadLight, touched)
			if sets += more; err != nil {
				return sets, err
			}
		}
	}
	return sets, w.touch(touched)
}

// folders returns the names of the folders in a folder of the data directory.
func (d *DB) folders(in string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(d.path), filepath.FromSlash(in)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.log.Error("a folder of runs cannot be read for trends", "folder", in, "why", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// addFolder adds a set, and returns how many it added.
func (d *DB) addFolder(w *writer, set, folder string, read func(string) (Origin, []Measured, error),
	touched places) (int, error) {
	_, known := w.added[set]
	if _, err := os.Lstat(filepath.Join(folder, session.OriginFile)); err != nil || len(w.added) > 0 && !known {
		return 0, nil
	}
	if w.ctx.Err() != nil {
		return 0, w.ctx.Err()
	}
	origin, all, err := read(folder)
	if err == nil && origin.Kind == KindPoint {
		err = check(set, all)
	}
	if err != nil {
		d.log.Warn("a set is left out of trends", "set", set, "why", err)
		return 0, nil
	}
	if origin.Kind != KindPoint {
		return 0, nil
	}
	if err := w.add(set, all, touched); err != nil {
		return 0, fmt.Errorf("%s: %w", set, err)
	}
	return 1, nil
}

// with has work done with the file. A file that turns out to be damaged is made anew once.
func (d *DB) with(ctx context.Context, work func(*sql.DB) error) error {
	used, err := d.try(work)
	if !database.Damaged(err) || d.journal == nil {
		return err
	}
	d.log.Error("the file of trends is damaged and made anew", "why", err)
	if err := d.renew(ctx, used); err != nil {
		return err
	}
	_, err = d.try(work)
	return err
}

func (d *DB) try(work func(*sql.DB) error) (*sql.DB, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return nil, fmt.Errorf("trends: %w", os.ErrClosed)
	}
	return d.db, work(d.db)
}

// renew makes a file anew that is in use. Of several callers the first does it.
func (d *DB) renew(ctx context.Context, used *sql.DB) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.db != used {
		return nil
	}
	d.db = nil
	_ = used.Close() // it is damaged
	return d.rebuild(context.WithoutCancel(ctx))
}

// update has work done in a transaction. Lines of the journal are on the disk before the commit.
func (d *DB) update(ctx context.Context, work func(*writer) error) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	var lines []line
	err := d.with(ctx, func(db *sql.DB) error {
		return d.transact(ctx, db, func(w *writer) error {
			if err := work(w); err != nil {
				return err
			}
			lines = w.lines
			return d.journal.append(w.lines)
		})
	})
	if err == nil && d.Changed != nil {
		d.report(lines)
	}
	return err
}

// report reports the rows of an update: changes and alerts, and points once.
func (d *DB) report(lines []line) {
	points := false
	for _, l := range lines {
		switch {
		case l.Change != nil:
			d.Changed("change", l.Change.ID)
		case l.Alert != nil:
			d.Changed("alert", l.Alert.ID)
		case l.Build == nil:
			points = true
		}
	}
	if points {
		d.Changed("points", 0)
	}
}

func (d *DB) transact(ctx context.Context, db *sql.DB, work func(*writer) error) error {
	return database.Update(ctx, db, func(tx *sql.Tx) error {
		w := &writer{ctx: ctx, tx: tx, prepared: map[string]*sql.Stmt{}, added: map[string]int64{}}
		defer w.close()
		return work(w)
	})
}

// writer is a transaction with its prepared statements.
type writer struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt
	lines    []line           // for the journal
	added    map[string]int64 // newest split before a set, by the journal
}

func (w *writer) statement(query string) (*sql.Stmt, error) {
	if s := w.prepared[query]; s != nil {
		return s, nil
	}
	s, err := w.tx.PrepareContext(w.ctx, query)
	if err == nil {
		w.prepared[query] = s
	}
	return s, err
}

func (w *writer) exec(query string, args ...any) error {
	s, err := w.statement(query)
	if err == nil {
		_, err = s.ExecContext(w.ctx, args...)
	}
	return err
}

// get reads one row into pointers.
func (w *writer) get(query string, args []any, into ...any) error {
	s, err := w.statement(query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(w.ctx, args...).Scan(into...)
}

// each reads all rows of a query.
func (w *writer) each(query string, args []any, row func(scan func(...any) error) error) error {
	s, err := w.statement(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(w.ctx, args...)
	return eachRow(rows, err, row)
}

func (w *writer) close() {
	for _, s := range w.prepared {
		_ = s.Close() // ends with the transaction
	}
}

// eachRow reads the rows of a query, and closes them.
func eachRow(rows *sql.Rows, err error, row func(scan func(...any) error) error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // its errors are those of Err
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
