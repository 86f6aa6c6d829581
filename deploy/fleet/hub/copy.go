package hub

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// A copy is a folder with a manifest and the archive that it names. The manifest is replaced after
// the archive is on the disk, so that a copy is whole at any time.
const (
	copyEvery    = time.Minute
	copyVersion  = 1
	manifestName = "manifest.json"
	tarBlock     = 512
	archiveForm  = "fleet-*.tar.gz"
	maxArchive   = 512 << 20
	maxCopied    = 64 << 20 // bytes of a file of the data directory
	maxUnpacked  = 2 * maxArchive
	copyLines    = 1000 // jobs or rigs in a part
)

// Names in the archive of a copy.
const (
	jobsPart  = "jobs/"
	rigsPart  = "rigs/"
	blobsPart = "blobs/"
)

// copied are the files of the data directory in a copy, as patterns.
var copied = []string{"secrets/fleet/operator.seed", "secrets/fleet/signing.seed", "secrets/fleet/state.json",
	"secrets/tls.pem", "secrets/tokens.json", "schedule.json", "trend.jsonl", "bisects/*.json"}

// manifest describes the archive of a copy.
type manifest struct {
	Version int    `json:"version"`
	Fleet   string `json:"fleet"` // SHA-256 of the operator's seed
	Epoch   uint64 `json:"epoch"` // of the hub
	WallNS  int64  `json:"wall_ns"`
	Archive string `json:"archive"` // name of the file
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// copies are the state of the hub's copies.
type copies struct {
	last   time.Time
	err    error
	sha256 string
}

// keepCopies writes a copy each minute until ctx ends. A copy that fails is a warning.
func (h *Hub) keepCopies(ctx context.Context) {
	every := time.NewTicker(copyEvery)
	defer every.Stop()
	for {
		h.copy(ctx)
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// copy writes a copy of the hub's jobs, rigs and keys to [Options].Copy.
func (h *Hub) copy(ctx context.Context) {
	h.mu.Lock()
	leads, was, epoch := h.leads, h.copies, h.epoch
	h.mu.Unlock()
	if !leads {
		return
	}
	sum, err := h.writeCopy(ctx, epoch, was.sha256)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("copy the fleet to %s: %w", h.o.Copy, err)
		if was.err == nil || was.err.Error() != err.Error() {
			h.o.Log.Warn("the fleet was not copied completely", "error", err)
		}
	} else if was.err != nil {
		h.o.Log.Info("the fleet is copied again", "to", h.o.Copy)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.copies.err = err; sum != "" {
		h.copies.last, h.copies.sha256 = h.o.Now(), sum
	}
}

// writeCopy writes a copy, unless its content is that of the one in the folder. The folder must
// exist: it may be a mount that is missing. A copy without a file that is too large has a sum and
// an error.
func (h *Hub) writeCopy(ctx context.Context, epoch uint64, before string) (sum string, err error) {
	if st, err := os.Stat(h.o.Copy); err != nil {
		return "", err
	} else if !st.IsDir() {
		return "", fmt.Errorf("%s: not a folder", h.o.Copy)
	}
	old, _ := filepath.Glob(filepath.Join(h.o.Copy, archiveForm)) // the pattern is valid
	if before != "" && len(old) == 0 {
		return "", errors.New("the earlier copy is gone; is the disk mounted")
	}
	f, err := os.CreateTemp(h.o.Copy, ".fleet-*") // 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // it is gone after the rename
	hash := sha256.New()
	out := &stepWriter{to: io.MultiWriter(f, hash), step: h.o.copyStep}
	left, err := h.archive(ctx, out)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	m := manifest{Version: copyVersion, Epoch: epoch, WallNS: h.o.Now().UnixNano(), Bytes: out.n, SHA256: sum,
		Archive: strings.Replace(archiveForm, "*", sum[:16], 1)}
	last, err := h.lastCopy(&m)
	if err != nil {
		return "", err
	}
	if last.SHA256 == sum && last.Epoch == epoch && last.Fleet == m.Fleet &&
		slices.Contains(old, filepath.Join(h.o.Copy, m.Archive)) {
		return sum, left
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(h.o.Copy, m.Archive))
	}
	if err == nil {
		err = errors.Join(syncDir(h.o.Copy), out.next())
	}
	if err == nil {
		err = staging.WriteFile(filepath.Join(h.o.Copy, manifestName), append(raw, '\n'), 0o600)
	}
	if err != nil {
		return "", err
	}
	killed, _ := filepath.Glob(filepath.Join(h.o.Copy, ".fleet-*")) // of hubs
	for _, name := range append(old, killed...) {
		if filepath.Base(name) != m.Archive {
			_ = os.Remove(name) // only space is lost
		}
	}
	return sum, left
}

// lastCopy returns the manifest in the folder, and fills in the fleet of the next one. It is an
// error if the next one must not replace it.
func (h *Hub) lastCopy(next *manifest) (last manifest, err error) {
	seed, err := h.readCopied(copied[0])
	if err != nil {
		return last, err
	}
	next.Fleet = hexSum(seed)
	raw, err := os.ReadFile(filepath.Join(h.o.Copy, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &last)
	}
	if err != nil {
		return last, fmt.Errorf("read the earlier copy: %w; move it away first", err)
	}
	if last.Version > copyVersion || last.Fleet != next.Fleet || last.Epoch > next.Epoch {
		err = errors.New("the folder has the copy of another fleet or of a newer hub; move it away first")
	}
	return last, err
}

// stepWriter bounds an archive, and lets tests end it at each write.
type stepWriter struct {
	to   io.Writer
	step func() error
	n    int64
}

func (w *stepWriter) next() error {
	if w.step == nil {
		return nil
	}
	return w.step()
}

func (w *stepWriter) Write(b []byte) (int, error) {
	if err := w.next(); err != nil {
		return 0, err
	}
	if w.n += int64(len(b)); w.n > maxArchive {
		return 0, fmt.Errorf("the fleet has more than %d bytes", int64(maxArchive))
	}
	return w.to.Write(b)
}

// errLarge is the error of a file that no copy can have.
var errLarge = fmt.Errorf("more than %d bytes", maxCopied)

// archive writes the content of a copy. Equal contents have equal bytes. The bounds are those of
// the reader. left names a file that is too large for a copy. A key is never left out.
func (h *Hub) archive(ctx context.Context, to io.Writer) (left, err error) {
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	out, bytesLeft := tar.NewWriter(zip), int64(maxUnpacked-tarBlock*2)
	add := func(name string, content []byte) error {
		if len(content) > maxCopied {
			return fmt.Errorf("%s has %w", name, errLarge)
		}
		if bytesLeft -= int64(len(content)+2*tarBlock-1) / tarBlock * tarBlock; bytesLeft < 0 {
			return fmt.Errorf("the fleet has more than %d bytes", int64(maxUnpacked))
		}
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err := out.Write(content)
		return err
	}
	for _, pattern := range copied {
		names, _ := fs.Glob(os.DirFS(h.o.Dir), pattern) // the patterns are valid
		for _, name := range names {
			content, err := h.readCopied(name)
			if err == nil {
				err = add(name, content)
			}
			if errors.Is(err, errLarge) && !strings.HasPrefix(name, "secrets/") {
				left, err = fmt.Errorf("a file is left out: %w", err), nil
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	h.mu.Lock()
	jobs, blobs, rigs := sortedKeys(h.jobs), sortedKeys(h.refs), [][]byte{}
	for _, name := range sortedKeys(h.rigs) {
		m := h.rigs[name].member
		m.SeenNS = 0 // it changes with each poll
		if raw, err := json.Marshal(m); err == nil && h.rigs[name].known {
			rigs = append(rigs, raw)
		}
	}
	h.mu.Unlock()
	for n := 0; n < len(rigs); n += copyLines {
		part := bytes.Join(rigs[n:min(n+copyLines, len(rigs))], []byte("\n"))
		if err := add(fmt.Sprintf("%s%06d", rigsPart, n/copyLines), part); err != nil {
			return nil, err
		}
	}
	for _, sum := range blobs {
		content, err := h.o.Bus.Blobs().Get(ctx, sum)
		if err == nil {
			err = add(blobsPart+sum, content)
		}
		if err != nil && ctx.Err() == nil { // its job may have ended
			h.o.Log.Debug("a content was not copied", "sha256", sum, "error", err)
		}
	}
	for n := 0; n < len(jobs); n += copyLines {
		var part bytes.Buffer
		for _, r := range h.records(jobs[n:min(n+copyLines, len(jobs))]) {
			raw, err := r.encode()
			if err != nil {
				return nil, err
			}
			part.Write(append(raw, '\n'))
		}
		if err := add(fmt.Sprintf("%s%06d", jobsPart, n/copyLines), part.Bytes()); err != nil {
			return nil, err
		}
	}
	return left, errors.Join(out.Close(), zip.Close(), ctx.Err())
}

// records returns the present records of jobs. Later changes replace their lists.
func (h *Hub) records(ids []string) (all []record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if j := h.jobs[id]; j != nil {
			all = append(all, j.record.clone())
		}
	}
	return all
}

func (h *Hub) readCopied(name string) ([]byte, error) {
	st, err := os.Stat(filepath.Join(h.o.Dir, name))
	if err == nil && st.Size() > maxCopied {
		err = fmt.Errorf("%s has %w", name, errLarge)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(h.o.Dir, name))
}
