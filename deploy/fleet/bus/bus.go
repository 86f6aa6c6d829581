// Package bus stores a hub's jobs and carries its rigs' requests.
//
// It has two implementations. [Serve] embeds a NATS server with JetStream. [Memory] is its twin for
// tests and simulations. One test suite runs on both. Rigs use [Dial]. They have no access to the
// hub's storage. Policy belongs to other packages.
package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/pattern"
)

// Errors of both implementations. Others wrap them.
var (
	ErrConflict = errors.New("the entry was changed meanwhile")
	ErrNotFound = errors.New("not found")
	ErrFull     = errors.New("the hub's storage is full")
	ErrAway     = errors.New("no connection")
	ErrRemoved  = fmt.Errorf("%w: the hub has removed this rig, or does not know its key", ErrAway)
	errBusy     = errors.New("too many requests of the rig")
)

// Names of a hub's storage.
const (
	Jobs  = "jobs"  // bucket
	Rigs  = "rigs"  // bucket
	State = "state" // bucket
	Log   = "log"   // log, 90 days
)

// Bounds of an entry and of a blob.
const (
	maxValue = 64 << 10
	maxBlob  = 4 << 20
)

// Entry is a stored value. Revision grows with each write of its key, and in a log with each entry.
type Entry struct {
	Key      string // in a log, the ID
	Value    []byte
	Revision uint64
}

// Stored is the result of a put: the new revision, or an error.
type Stored struct {
	Revision uint64
	Err      error
}

// Bucket stores values by key. Keys have 1 to 120 letters, digits, points, lines and dashes.
// A change returns after it is on the disk. After an error other than ErrConflict, ErrFull and
// ErrNotFound it may have happened. Methods may be called at the same time.
type Bucket interface {
	Get(ctx context.Context, key string) (Entry, error)
	// Put stores a value if revision is the entry's last, or 0 and the entry does not exist.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// PutAll does so for several keys at the same time. Each may fail alone.
	PutAll(ctx context.Context, entries []Entry) []Stored
	// Delete removes an entry if revision is its last.
	Delete(ctx context.Context, key string, revision uint64) error
	// All returns all entries. Changes during the call may be missing.
	All(ctx context.Context) ([]Entry, error)
}

// Records are lists of entries that are only appended to. The oldest entries are dropped at the
// bounds of time and bytes.
type Records interface {
	// Append stores a value once per ID within two minutes. An empty ID is always new.
	Append(ctx context.Context, log string, value []byte, id string) error
	// Read returns up to limit entries, beginning with revision from.
	Read(ctx context.Context, log string, from uint64, limit int) ([]Entry, error)
}

// Blobs are contents by SHA-256, in hexadecimal. Put does nothing if the content is there.
type Blobs interface {
	Put(ctx context.Context, sha256 string, content []byte) error
	Get(ctx context.Context, sha256 string) ([]byte, error)
	Delete(ctx context.Context, sha256 string) error
}

// Handler answers a request of a rig. It is called at the same time for several requests.
type Handler func(ctx context.Context, rig, kind string, request []byte) []byte

// Hub is the bus as its hub uses it.
type Hub interface {
	Bucket(name string) Bucket
	Log() Records
	Blobs() Blobs
	// Serve has requests answered until ctx ends, then joins the handlers. Requests before it
	// fail with ErrAway at the rig. A rig has bounds of rate and of requests at the same time.
	Serve(ctx context.Context, handler Handler) error
	// Wake makes a rig poll at once. It does not wait for the rig.
	Wake(rig string) error
	// Disconnect ends a rig's connections. A rig with a valid key connects again.
	Disconnect(rig string) error
	Close() error
}

// Rig is the bus as a rig uses it.
type Rig interface {
	// Request returns the hub's answer. Without a connection it fails with ErrAway at once.
	Request(ctx context.Context, kind string, request []byte) ([]byte, error)
	// Woken has an element after a call of Wake and after each new connection.
	Woken() <-chan struct{}
	// Connected returns the reason of a lost connection as an error.
	Connected() (bool, error)
	Close() error
}

var (
	keyForm  = pattern.New(`^[A-Za-z0-9._-]{1,120}$`)
	rigForm  = pattern.New(`^[A-Za-z0-9-]{1,32}$`)
	kindForm = pattern.New(`^[a-z]{1,16}$`)
	hashForm = pattern.New(`^[0-9a-f]{64}$`)
)

func checkEntry(key string, value []byte) error {
	if !keyForm.MatchString(key) {
		return fmt.Errorf("store %.130q: a key has 1 to 120 of A-Z, a-z, 0-9, ., _ and -", key)
	}
	if len(value) > maxValue {
		return fmt.Errorf("store %s: %d bytes are more than %d", key, len(value), maxValue)
	}
	return nil
}

func checkRecord(log string, value []byte, id string) error {
	if log != Log {
		return fmt.Errorf("store in %.40q: unknown log", log)
	}
	if id == "" {
		id = "none"
	}
	return checkEntry(id, value)
}

func checkBlob(sha256 string, content []byte) error {
	if !hashForm.MatchString(sha256) {
		return fmt.Errorf("store %.80q: not a SHA-256", sha256)
	}
	if len(content) > maxBlob {
		return fmt.Errorf("store %s: %d bytes are more than %d", sha256, len(content), maxBlob)
	}
	return nil
}

func checkRequest(kind string, request []byte) error {
	if !kindForm.MatchString(kind) {
		return fmt.Errorf("ask the hub for %.40q: unknown kind", kind)
	}
	if len(request) > wire.MaxMessage {
		return fmt.Errorf("ask the hub for %s: %d bytes are more than %d", kind, len(request), wire.MaxMessage)
	}
	return nil
}
