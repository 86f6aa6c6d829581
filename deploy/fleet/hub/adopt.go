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
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/deploy/fleet/bus"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
)

// Adopted describes a fleet that was restored.
type Adopted struct {
	Jobs, Rigs int
	Epoch      uint64
	Copied     time.Time
}

// Folders of a hub in its data directory.
const (
	keysDir  = "secrets/fleet"
	storeDir = "fleet/jetstream"
)

// resendKey is in the bucket of states after an adoption. Its value is the time in ns. For a week
// the hub asks its rigs for the light folders of ended jobs.
const (
	resendKey  = "resend"
	resendTime = 7 * 24 * time.Hour
)

// resends reports if rigs shall send light folders again.
func (h *Hub) resends(ctx context.Context) bool {
	e, err := h.o.Bus.Bucket(bus.State).Get(ctx, resendKey)
	at, _ := strconv.ParseInt(string(e.Value), 10, 64) // 0 is long ago
	return err == nil && h.began.Sub(time.Unix(0, at)) < resendTime
}

// resend has the folder of an ended job sent again, if the hub does not have it.
func (h *Hub) resend(j *job) {
	n := j.Winner
	if n == 0 {
		n = len(j.Attempts)
	}
	if !j.ended() || n == 0 {
		return
	}
	a, id := j.Attempts[n-1], wire.AttemptID(j.Job, n)
	if a.Set && !h.light.has(a.Rig, id) {
		h.rig(a.Rig).resend[id] = true
	}
}

// Adopt restores a fleet from a copy into a data directory without one. open opens a new storage in
// a folder, with the keys of another one. A hub exists after the last step, which moves its keys.
func Adopt(ctx context.Context, dir, from string, open func(keys, store string) (bus.Hub, error)) (a Adopted,
	err error) {
	for _, name := range []string{keysDir, storeDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return a, errors.Join(fmt.Errorf("%s has a fleet already: %s exists", dir, name), err)
		}
	}
	m, archive, err := openCopy(from)
	if err != nil {
		return a, err
	}
	defer archive.Close() // was only read
	tmp, err := os.MkdirTemp(dir, ".adopt-*")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(tmp) // what is kept was moved
	parts, err := unpack(archive, tmp)
	if err != nil {
		return a, fmt.Errorf("read %s: %w", archive.Name(), err)
	}
	b, err := open(filepath.Join(tmp, keysDir), filepath.Join(tmp, storeDir))
	if err != nil {
		return a, err
	}
	// A clock that is wrong cannot lower it. A copy that is adopted twice has two epochs.
	a.Epoch, a.Copied = max(m.Epoch+1, uint64(max(time.Now().Unix(), 0))), time.Unix(0, m.WallNS)
	err = a.restore(ctx, b, parts)
	if err = errors.Join(err, b.Close()); err != nil {
		return a, fmt.Errorf("restore the fleet: %w", err)
	}
	if err := own(tmp); err != nil {
		return a, err
	}
	return a, place(dir, tmp)
}

// own gives a folder and all in it the owner of the folder above. Root may call Adopt for a
// service.
func own(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, staging.Adopt(path))
	})
}

// openCopy returns the archive of a copy after its size and hash were compared.
func openCopy(from string) (m manifest, archive *os.File, err error) {
	raw, err := os.ReadFile(filepath.Join(from, manifestName))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, nil, fmt.Errorf("read the copy: %w", err)
	}
	if is, _ := path.Match(archiveForm, m.Archive); !is || m.Version != copyVersion || m.Bytes > maxArchive {
		return m, nil, fmt.Errorf("read the copy %s: unknown version %d or invalid manifest", from, m.Version)
	}
	if archive, err = os.Open(filepath.Join(from, m.Archive)); err != nil {
		return m, nil, fmt.Errorf("read the copy: %w", err)
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(archive, maxArchive+1))
	if err == nil && (n != m.Bytes || hex.EncodeToString(hash.Sum(nil)) != m.SHA256) {
		err = errors.New("its size or hash is not that of the manifest; use another copy")
	}
	if err == nil {
		_, err = archive.Seek(0, io.SeekStart)
	}
	if err != nil {
		return m, nil, errors.Join(fmt.Errorf("read the copy %s: %w", archive.Name(), err), archive.Close())
	}
	return m, archive, nil
}

// unpack writes the files of an archive into a folder, and returns its other parts by name.
func unpack(archive io.Reader, dir string) (parts map[string][]byte, err error) {
	zip, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	parts = map[string][]byte{}
	in := tar.NewReader(io.LimitReader(zip, maxUnpacked))
	for {
		t, err := in.Next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if t.Size > maxCopied || !filepath.IsLocal(t.Name) {
			return nil, fmt.Errorf("%.100q is invalid or too large", t.Name)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		if !isCopied(t.Name) {
			parts[t.Name] = content
			continue
		}
		name := filepath.Join(dir, t.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, err
		}
		if err := staging.WriteFile(name, content, 0o600); err != nil {
			return nil, err
		}
	}
}

func isCopied(name string) bool {
	for _, pattern := range copied {
		if is, _ := path.Match(pattern, name); is {
			return true
		}
	}
	return false
}

// restore stores jobs, rigs and the epoch.
func (a *Adopted) restore(ctx context.Context, b bus.Hub, parts map[string][]byte) error {
	put := func(bucket, key string, value []byte) error {
		_, err := b.Bucket(bucket).Put(ctx, key, value, 0)
		return err
	}
	for _, name := range sortedKeys(parts) {
		kind, sum := path.Split(name)
		if kind == blobsPart {
			if err := b.Blobs().Put(ctx, sum, parts[name]); err != nil {
				return err
			}
			continue
		}
		bucket, count := bus.Jobs, &a.Jobs
		if kind == rigsPart {
			bucket, count = bus.Rigs, &a.Rigs
		} else if kind != jobsPart {
			return fmt.Errorf("unknown part %.100q", name)
		}
		var all []bus.Entry
		for line := range bytes.Lines(parts[name]) {
			e := bus.Entry{Value: bytes.TrimSpace(line)}
			var m member
			r, err := decodeRecord(e.Value)
			if e.Key = r.Job; kind == rigsPart {
				err = json.Unmarshal(e.Value, &m)
				e.Key = m.Rig
			}
			if err != nil {
				return fmt.Errorf("%.100q: %w", name, err)
			}
			all = append(all, e)
		}
		for _, s := range b.Bucket(bucket).PutAll(ctx, all) {
			if s.Err != nil {
				return s.Err
			}
			*count++
		}
	}
	return errors.Join(put(bus.State, epochKey, strconv.AppendUint(nil, a.Epoch, 10)),
		put(bus.State, resendKey, strconv.AppendInt(nil, time.Now().UnixNano(), 10)))
}

// place moves the files of an adopted fleet into the data directory, the hub's keys last. Files
// that are there get the name NAME.old.
func place(dir, tmp string) error {
	move := func(name string) error {
		from, to := filepath.Join(tmp, name), filepath.Join(dir, name)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		err := os.Mkdir(filepath.Dir(to), 0o700)
		if err == nil {
			err = staging.Adopt(filepath.Dir(to))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Rename(to, to+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return errors.Join(os.Rename(from, to), syncDir(filepath.Dir(to)))
	}
	if err := os.Rename(filepath.Join(dir, "trend.db"), filepath.Join(dir, "trend.db.old")); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []string{"trend.jsonl", "bisects", "schedule.json", "secrets/tls.pem",
		"secrets/tokens.json", storeDir, keysDir} {
		if err := move(name); err != nil {
			return err
		}
	}
	return nil
}
