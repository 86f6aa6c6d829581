package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/store/database"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Folders and files of a data directory.
const (
	runsDir       = "runs"
	trashDir      = "trash"
	uploadsDir    = "uploads"
	IndexFile     = "index.sqlite" // of all runs
	lockFile      = "store.lock"
	baselinesFile = "baselines.json"
	reserveFile   = "reserve"
	pinnedFile    = "pinned"       // in a run folder
	oldFile       = "superseded"   // in the folder of a set or of a single run
	verdictFile   = "verdict.json" // in the folder of a run, or of runs that were judged together
)

// FolderFiles are the names of the store's own files in the folders of runs.
func FolderFiles() []string { return []string{pinnedFile, oldFile, verdictFile} }

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("unknown run or set")
	ErrInUse    = errors.New("it is in use")
	ErrPinned   = errors.New("it is pinned")
	ErrNoSpace  = errors.New("the disk is full")
	ErrCursor   = errors.New("not the cursor of a page")
	// ErrRefused is wrapped by errors about a rejected upload.
	ErrRefused = errors.New("the upload is refused")
	// ErrTooLarge is also wrapped if the upload is larger than the limit.
	ErrTooLarge = runzip.ErrTooLarge
)

// Options open a store.
type Options struct {
	Dir string       // the data directory; made if it is not there
	Log *slog.Logger // nil: no log
	// Progress, if not nil, gets the number of finished folders while the index is made again.
	Progress func(done, total int)
	// Working, if not nil, is called often during long steps of recovering runs.
	Working func(what string)
	// MaxUpload bounds what Receive takes, packed and unpacked; 0 is DefaultUpload. MinFree is what
	// an upload leaves free on the disk.
	MaxUpload, MinFree int64
	// Locks has the locks of devices; empty: the usual folder.
	Locks session.Locks

	step func(name string) // of what changes files, for tests that kill the program there
}

// DefaultUpload is the size of an upload that is taken where nothing else is said.
const DefaultUpload = runzip.MaxBytes

// Store is the runs of a data directory. Its methods may be called from several goroutines.
type Store struct {
	Options
	dir  string // absolute
	root *os.Root
	lock io.Closer

	// has one place, of who looks whether something is here already, until it is; taken before
	// change
	taking  chan struct{}
	change  sync.Mutex // held by who changes files or the index
	pending nameSet    // what the index's table of this name holds
	placed  nameSet    // folders in which a run is being made

	index      sync.RWMutex // guards db: held for reading while it is used, for writing while it is made anew
	db         *sql.DB      // nil: closed
	generation uint64       // counts how often db was made anew
	counts     counts

	baselines baselines
	uses      uses
}

// Open opens the store of a data directory, and makes its index anew if need be. Another program
// that has it open is an error.
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxUpload == 0 {
		o.MaxUpload = DefaultUpload
	}
	s := &Store{Options: o, taking: make(chan struct{}, 1)}
	if s.dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, errors.Join(told(err), s.Close()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	for _, dir := range []string{"", runsDir, trashDir, uploadsDir} { // screens hold secrets: nobody else reads them
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o750); err != nil {
			return err
		}
	}
	if s.lock, err = staging.Lock(filepath.Join(s.dir, lockFile)); err != nil {
		return err
	}
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		return err
	}
	staging.CleanFile(filepath.Join(s.dir, baselinesFile))
	s.baselines.load(s)
	s.keepReserve()
	for _, dir := range []string{trashDir, uploadsDir} {
		if err := s.empty(dir); err != nil {
			return err
		}
	}
	return s.openIndex(ctx)
}

// openIndex opens the index and updates it for changes that were pending at its last use.
func (s *Store) openIndex(ctx context.Context) error {
	db, err := indexSchema.Open(ctx, s.indexPath())
	switch {
	case err == nil:
		s.db = db
	case database.Useless(err):
		if !errors.Is(err, fs.ErrNotExist) { // a new store has none
			s.Log.Warn("the index of runs is made anew", "why", err)
		}
		return s.rebuild(ctx)
	default:
		return err
	}
	if err = s.catchUp(ctx); database.Damaged(err) {
		s.Log.Warn("the index of runs is made anew", "why", err)
		return s.rebuild(ctx)
	}
	return err
}

// Close ends the use of the store. It is idempotent.
func (s *Store) Close() error {
	s.change.Lock()
	defer s.change.Unlock()
	var errs []error
	// the rest is done when the store is opened
	if err := s.settle(context.Background()); err != nil && !errors.Is(err, os.ErrClosed) &&
		!errors.Is(err, ErrNoSpace) {
		errs = append(errs, err)
	}
	s.index.Lock()
	defer s.index.Unlock()
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	if s.root != nil {
		errs = append(errs, s.root.Close()) // remaining readers get errors
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	return errors.Join(errs...)
}

// empty removes the content of a folder of unfinished files.
func (s *Store) empty(dir string) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.root.RemoveAll(dir + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// at tells tests that a step was done.
func (s *Store) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// with has work done with the index. An index that turns out to be damaged is made anew, and the
// work done again.
func (s *Store) with(ctx context.Context, work func(*sql.DB) error) error {
	generation, err := s.try(work)
	if !database.Damaged(err) {
		return told(err)
	}
	s.Log.Error("the index of runs is damaged and made anew", "why", err)
	if err := s.renew(ctx, generation); err != nil {
		return told(fmt.Errorf("the index is damaged, and could not be made anew: %w", err))
	}
	_, err = s.try(work)
	return told(err)
}

func (s *Store) try(work func(*sql.DB) error) (generation uint64, err error) {
	s.index.RLock()
	defer s.index.RUnlock()
	if s.db == nil {
		return 0, fmt.Errorf("the store: %w", os.ErrClosed)
	}
	return s.generation, work(s.db)
}
