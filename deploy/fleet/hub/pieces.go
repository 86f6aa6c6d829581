package hub

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/deploy/server/runweb"
)

const (
	pieceBytes = 4 << 20
	tagBytes   = 64 // of a file's ETag, in a piece
	pieceHead  = sha256.Size + tagBytes
	leastSpace = pieceBytes / 8 // that a piece counts for, which bounds their number
	piecesFree = 4              // quotas of the storage that pieces leave free on the disk
)

// pieces has parts of files of rigs, so that they are there again while their rig measures or is
// away. A piece is a file FILE-INDEX. It has the SHA-256 of the rest and the ETag that the rig gave
// the file. Then it has at most pieceBytes from INDEX·pieceBytes on. FILE is a hash: see
// [pieceReader.file].
type pieces struct {
	root *os.Root
	dir  string

	mu     sync.Mutex
	coming map[string]chan struct{} // closed when the piece is there, or cannot be
	tags   map[string]string        // of files, by their part of the names of pieces
	space
}

// newPiece begins the names of pieces that are not whole.
const newPiece = "new-"

func openPieces(dir string, most int64) (*pieces, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open pieces: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open pieces: %w", err)
	}
	p := &pieces{root: root, dir: dir, coming: map[string]chan struct{}{}, tags: map[string]string{},
		space: newSpace(most)}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() || strings.HasPrefix(e.Name(), newPiece) {
			_ = root.RemoveAll(e.Name()) // else it takes space, but is not found
			continue
		}
		p.add(e.Name(), max(st.Size(), leastSpace), st.ModTime())
	}
	return p, err
}

// open returns a piece behind its head, and the file's ETag. It waits for one that is coming, and
// else has fetch write it.
func (p *pieces) open(ctx context.Context, name string, fetch func(*os.File) error) (f *os.File, tag string,
	err error) {
	done := make(chan struct{})
	for {
		p.mu.Lock()
		have, wait := p.all[name], p.coming[name]
		if have != nil {
			have.used = time.Now()
		} else if wait == nil {
			p.coming[name] = done
		}
		p.mu.Unlock()
		if have != nil {
			if f, tag, err = p.read(name); err == nil {
				return f, tag, nil
			}
			p.mu.Lock()
			p.remove(name) // it is damaged
			p.mu.Unlock()
			continue
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	defer func() {
		p.mu.Lock()
		delete(p.coming, name)
		p.mu.Unlock()
		close(done)
	}()
	if err := p.store(name, fetch); err != nil {
		return nil, "", err
	}
	return p.read(name)
}

// read opens a piece whose content has its hash.
func (p *pieces) read(name string) (*os.File, string, error) {
	f, err := p.root.Open(name)
	if err != nil {
		return nil, "", err
	}
	_ = os.Chtimes(filepath.Join(p.dir, name), time.Time{}, time.Now()) // else it is deleted sooner
	var head [pieceHead]byte
	sum := sha256.New()
	_, err = io.ReadFull(f, head[:])
	if err == nil {
		_, _ = sum.Write(head[sha256.Size:]) // never fails
		_, err = io.Copy(sum, f)
	}
	if err == nil && string(sum.Sum(nil)) != string(head[:sha256.Size]) {
		err = fmt.Errorf("piece %s has another hash than its content", name)
	}
	if err == nil {
		_, err = f.Seek(pieceHead, io.SeekStart)
	}
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	return f, strings.TrimRight(string(head[sha256.Size:]), "\x00"), nil
}

// store has a piece written, and then the oldest ones deleted.
func (p *pieces) store(name string, fetch func(*os.File) error) error {
	temp := newPiece + rand.Text()
	f, err := p.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	err = fetch(f)
	var bytes int64
	if err == nil {
		bytes, err = f.Seek(0, io.SeekEnd)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = p.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, p.root.Remove(temp))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(name, max(bytes, leastSpace), time.Now())
	for p.bytes > p.max && p.removeOldest(name) {
	}
	return nil
}

// remove deletes a piece. The lock is held.
func (p *pieces) remove(name string) {
	p.drop(name)
	_ = p.root.Remove(name) // else it takes space until the next start
}

func (p *pieces) removeOldest(but string) bool {
	oldest := p.oldest(but)
	if oldest != "" {
		p.remove(oldest)
	}
	return oldest != ""
}

// agrees reports if the pieces of a file so far have had this tag. Else they are deleted.
func (p *pieces) agrees(file, tag string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, is := p.tags[file]
	if is && before != tag {
		p.forget(file)
		return false
	}
	if len(p.tags) > len(p.all) { // most are of files without pieces
		clear(p.tags)
	}
	p.tags[file] = tag
	return true
}

// tag returns the ETag of a file whose beginning the hub has; "": it is not known.
func (p *pieces) tag(file string) string {
	p.mu.Lock()
	have := p.all[file+"0"] != nil
	tag, is := p.tags[file]
	p.mu.Unlock()
	if !have {
		return "" // the rig may have another file by now
	} else if is {
		return tag
	}
	f, tag, err := p.read(file + "0")
	if err != nil || f.Close() != nil {
		return "" // it is damaged
	}
	return tag
}

// forget deletes the pieces of a file. The lock is held.
func (p *pieces) forget(file string) {
	delete(p.tags, file)
	for name := range p.all {
		if strings.HasPrefix(name, file) {
			p.remove(name)
		}
	}
}

// freeUp returns the free bytes of the disk. If they are fewer, the oldest pieces are deleted that
// have the rest.
func (h *Hub) freeUp(bytes int64) (free int64, err error) {
	free, err = h.o.Free()
	if err != nil || free >= bytes {
		return free, err
	}
	p := h.pieces
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.bytes - (bytes - free)
	for _, name := range p.byAge() {
		if p.bytes > until {
			p.remove(name)
		}
	}
	return h.o.Free()
}

// makeRoom frees the bytes that a new job needs. After pieces it deletes light folders.
func (h *Hub) makeRoom() {
	h.making.Lock() // others would delete the same bytes again
	defer h.making.Unlock()
	free, err := h.freeUp(2 * h.o.Quota)
	if err != nil || free >= 2*h.o.Quota {
		return // admit reports the error
	}
	needed := map[string]bool{}
	if h.o.Needed != nil {
		needed, err = h.o.Needed()
	}
	if err == nil {
		err = h.light.free(2*h.o.Quota-free, func(set string) bool { return needed[set] })
	}
	if err != nil {
		h.o.Log.Warn("light folders cannot be deleted", "error", err)
	}
}

// pieceReader reads a file of a rig. Pieces that the hub does not have are fetched.
type pieceReader struct {
	rig, from string // the path of the file on the rig
	size      int64  // of the file, as its light folder states
	h         *Hub
	ctx       context.Context //nolint:containedctx // io.Reader has none

	at    int64
	tag   string // the file's ETag; "": not known yet, or none
	piece *os.File
	index int64
	err   error // of a read
}

// errChanged says that a rig has another file than it had.
var errChanged = errors.New("the file has changed on its rig")

// file begins the names of the file's pieces.
func (r *pieceReader) file() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", r.rig, r.from, r.size))
	return hex.EncodeToString(sum[:20]) + "-"
}

// Seek implements [io.Seeker].
func (r *pieceReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of a file")
	}
	r.at = offset
	return r.at, nil
}

// Read implements [io.Reader].
func (r *pieceReader) Read(b []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	n, err := r.read(b)
	r.at += int64(n)
	if err != nil {
		r.err = err
	}
	return n, err
}

func (r *pieceReader) read(b []byte) (int, error) {
	index := r.at / pieceBytes
	if r.piece == nil || r.index != index {
		if err := r.Close(); err != nil {
			return 0, err
		}
		f, tag, err := r.h.pieces.open(r.ctx, r.file()+strconv.FormatInt(index, 10),
			func(to *os.File) error { return r.fetch(to, index) })
		if err == nil && (!r.h.pieces.agrees(r.file(), tag) || r.tag != "" && r.tag != tag) {
			err = errors.Join(errChanged, f.Close())
		}
		if err != nil {
			return 0, err
		}
		r.piece, r.index, r.tag = f, index, tag
	}
	within := r.at - index*pieceBytes
	left := min(pieceBytes, r.size-index*pieceBytes) - within
	n, err := r.piece.ReadAt(b[:min(int64(len(b)), left)], pieceHead+within)
	if n > 0 {
		err = nil
	}
	return n, err
}

// Close closes the piece that is open.
func (r *pieceReader) Close() (err error) {
	if r.piece != nil {
		err = r.piece.Close()
	}
	r.piece = nil
	return err
}

// fetch writes a piece that the rig sends.
func (r *pieceReader) fetch(to *os.File, index int64) error {
	from := index * pieceBytes
	bytes := min(pieceBytes, r.size-from)
	ranged := fmt.Sprintf("bytes=%d-%d", from, from+bytes-1)
	want := fmt.Sprintf("bytes %d-%d/%d", from, from+bytes-1, r.size)
	err := r.h.fetch(r.ctx, r.rig, r.from, ranged, relayWait, func(a *relayed) error {
		switch tag := a.header.Get("ETag"); {
		case a.status == http.StatusServiceUnavailable: // it has begun to measure
			text, _ := io.ReadAll(io.LimitReader(a.body, maxReason)) // a part says enough
			return errAway(strings.TrimSpace(string(text)))
		case a.status != http.StatusPartialContent || a.header.Get("Content-Range") != want || a.bytes != bytes ||
			len(tag) > tagBytes:
			return errChanged
		default:
			return writePiece(to, tag, a.body, bytes)
		}
	})
	if errors.Is(err, errChanged) {
		r.h.pieces.mu.Lock()
		defer r.h.pieces.mu.Unlock()
		r.h.pieces.forget(r.file())
	}
	return err
}

func writePiece(to *os.File, tag string, from io.Reader, bytes int64) error {
	var head [pieceHead]byte
	copy(head[sha256.Size:], tag)
	sum := sha256.New()
	_, _ = sum.Write(head[sha256.Size:]) // never fails
	if _, err := to.Write(head[:]); err != nil {
		return err
	}
	if _, err := io.CopyN(io.MultiWriter(to, sum), from, bytes); err != nil {
		return err
	}
	_, err := to.WriteAt(sum.Sum(nil), 0)
	return err
}

// pieced answers with a file of a rig from pieces. It reports false, and has written nothing, if
// the file must be relayed as the rig has it.
func (h *Hub) pieced(w http.ResponseWriter, r *http.Request, from *pieceReader, name string) bool {
	free, err := h.freeUp(piecesFree * h.o.Quota)
	if from.size > maxRelayed || err != nil || free < piecesFree*h.o.Quota {
		return false
	}
	if strings.Contains(r.Header.Get("Range"), ",") { // others would read it after this function returns
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	from.h, from.ctx = h, r.Context()
	defer from.Close() // was only read
	late := &lateWriter{ResponseWriter: w, from: from}
	if from.tag = h.pieces.tag(from.file()); from.tag != "" {
		w.Header().Set("ETag", from.tag) // for the request's conditions
	}
	runweb.Typed(w.Header(), name)
	end := time.Now().Add(2*time.Minute + time.Duration(from.size/minSpeed)*time.Second)
	_ = http.NewResponseController(w).SetWriteDeadline(end)
	http.ServeContent(late, r, "", time.Time{}, from)
	switch {
	case from.err == nil:
		late.begin()
	case late.begun:
		h.o.Log.Warn("a file was not relayed whole", "rig", from.rig, "error", from.err)
		panic(http.ErrAbortHandler) // so that the client knows too
	default:
		for _, key := range []string{"Content-Length", "Content-Range", "Accept-Ranges", "ETag"} {
			w.Header().Del(key)
		}
		var away errAway
		if !errors.As(from.err, &away) && !errors.Is(from.err, errSlow) {
			return false
		}
		notFetched(w, from.err)
	}
	return true
}

// lateWriter sends the status with the first bytes, so that an error before them has its own.
type lateWriter struct {
	http.ResponseWriter
	from   *pieceReader
	status int
	begun  bool
}

func (w *lateWriter) WriteHeader(status int) { w.status = status }

func (w *lateWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

func (w *lateWriter) begin() {
	if !w.begun && w.status != 0 {
		if w.from.tag != "" {
			w.Header().Set("ETag", w.from.tag)
		}
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.begun = true
}
