package replay

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"
)

// Sink is where a [Writer] puts an archive: a file.
type Sink interface {
	io.Writer
	Sync() error
}

// syncEvery bounds the loss of a power cut, beside incomplete exchanges.
const syncEvery = time.Second

// Writer keeps exchanges in a file. It may be used by several goroutines at once.
type Writer struct {
	mu     sync.Mutex
	to     Sink
	zip    *zip.Writer
	limits Limits
	have   map[[sha256.Size]byte]bool
	total  int64 // of bodies
	texts  int64 // of exchanges
	count  int
	synced time.Time
	dirty  bool
	err    error // the first that writing met; nothing is written after it
	closed bool
}

// errFull says that an archive has as much as it may have.
var errFull = errors.New("the archive has as much as one may have")

// NewWriter begins an archive in an empty file, which stays the caller's to close.
func NewWriter(to Sink, info Info, l Limits) (*Writer, error) {
	w := &Writer{to: to, zip: zip.NewWriter(to), limits: l, have: map[[sha256.Size]byte]bool{}, synced: time.Now()}
	text, err := json.MarshalIndent(infoWire{formatName, formatVersion, info.Writer, info.Created.UTC(), info.Clock,
		info.Seed}, "", " ")
	if err != nil {
		return nil, err
	}
	if err := w.entry("archive.json", text, info.Created); err != nil {
		return nil, err
	}
	return w, w.zip.Flush()
}

// write stores an exchange with its bodies, and sets its number. If its URL or response header is
// not UTF-8, it is marked as Missing. In a request's header such bytes become U+FFFD. Without room
// it returns errFull and stores nothing. Any other error ends the archive.
func (w *Writer) write(e *Exchange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("the archive is closed")
	}
	if w.err != nil {
		return w.err
	}
	if err := e.check(w.limits); err != nil {
		return fmt.Errorf("keep an exchange: %w", err)
	}
	bodies, more := []*Body{&e.Body, &e.ResponseBody}, int64(0)
	for _, b := range bodies {
		if b.Size > 0 && !w.have[b.Sum] {
			more += b.Size
		}
	}
	if w.count == w.limits.Exchanges || w.total+more > w.limits.Total {
		return errFull
	}
	if what := e.noText(); what != "" && e.Missing == "" {
		e.Missing = sentence(what + " has bytes that are not UTF-8, which an archive cannot store")
	}
	e.Number = w.count + 1
	text, err := json.MarshalIndent(e.wire(), "", " ")
	if err != nil {
		return err
	}
	if w.texts+int64(len(text)) > w.limits.Texts {
		return errFull
	}
	w.err = w.put(e, bodies, text)
	return w.err
}

func (w *Writer) put(e *Exchange, bodies []*Body, text []byte) error {
	now := time.Now()
	for _, b := range bodies {
		if b.Size == 0 || w.have[b.Sum] {
			continue
		}
		if err := w.entry(b.name(), b.Bytes, now); err != nil {
			return err
		}
		w.have[b.Sum], w.total = true, w.total+b.Size
	}
	// The exchange comes behind its bodies: where it is whole, they are.
	if err := w.entry(exchangeName(e.Number), text, now); err != nil {
		return err
	}
	w.count, w.texts = w.count+1, w.texts+int64(len(text))
	if err := w.zip.Flush(); err != nil {
		return err
	}
	w.dirty = true
	if now.Sub(w.synced) < syncEvery {
		return nil
	}
	w.synced, w.dirty = now, false
	return w.to.Sync()
}

func exchangeName(n int) string { return fmt.Sprintf("exchanges/%06d.json", n) }

// entry writes one file of the archive with its sizes before it. So it can be found without the
// directory at the end.
func (w *Writer) entry(name string, text []byte, at time.Time) error {
	h := &zip.FileHeader{Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(text),
		UncompressedSize64: uint64(len(text))}
	packed := text
	if p := pack(text); len(p) < len(text) {
		h.Method, packed = zip.Deflate, p
	}
	h.CompressedSize64 = uint64(len(packed))
	//lint:ignore SA1019 CreateRaw, unlike its siblings, takes the time from nowhere else
	h.SetModTime(at.UTC())
	to, err := w.zip.CreateRaw(h)
	if err != nil {
		return err
	}
	_, err = to.Write(packed)
	return err
}

// pack deflates, unless the beginning shows that it would not help: pictures, video and packed
// data.
func pack(text []byte) []byte {
	const sample = 4 << 10
	if len(text) > 2*sample && len(deflated(text[:sample])) > sample*9/10 {
		return text
	}
	return deflated(text)
}

func deflated(text []byte) []byte {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

// failed returns what ended the archive before its time.
func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Sync makes the written exchanges survive a power cut. Write does so itself if the last time was a
// second ago. Call Sync to secure the last exchanges before a pause.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || !w.dirty || w.closed {
		return w.err
	}
	w.dirty, w.synced = false, time.Now()
	w.err = w.to.Sync()
	return w.err
}

// totals returns how many exchanges were kept, and the bytes of their bodies.
func (w *Writer) totals() (exchanges int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count, w.total
}

// Close ends the archive with its directory. It returns the first error that writing met.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err != nil {
		return w.err
	}
	if w.err = w.zip.Close(); w.err == nil {
		w.err = w.to.Sync()
	}
	return w.err
}
