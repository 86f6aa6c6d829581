package hub

import (
	"context"
	"crypto/rand"
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
	"strings"
	"sync"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/fleet/wire"
	"github.com/eideticker/eideticker/deploy/store/runzip"
)

// Files of the folder of light folders. Hidden names are never in a zip file.
const (
	stagingDir = ".staging"
	bytesFile  = ".bytes" // of a light folder: the space that it takes
)

// lightStore has the light folders RIG/ATTEMPT.
type lightStore struct {
	root *os.Root
	dir  string

	mu sync.Mutex
	space
}

func openLight(dir string, most int64) (*lightStore, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open light folders: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open light folders: %w", err)
	}
	l := &lightStore{root: root, dir: dir, space: newSpace(most)}
	if err := errors.Join(root.RemoveAll(stagingDir), root.Mkdir(stagingDir, 0o750)); err != nil {
		return nil, fmt.Errorf("open light folders: %w", err)
	}
	names, err := fs.Glob(root.FS(), "*/*")
	for _, name := range names {
		raw, e := root.ReadFile(path.Join(name, bytesFile))
		st, e2 := root.Stat(name)
		if strings.HasPrefix(name, ".") || e != nil || e2 != nil {
			continue
		}
		n, _ := strconv.ParseInt(string(raw), 10, 64) // else it is small
		l.add(name, n, st.ModTime())
	}
	return l, err
}

func (l *lightStore) has(rig, attempt string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[rig+"/"+attempt] != nil
}

// path returns a folder for packages that take a path.
func (l *lightStore) path(rig, attempt string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.all[rig+"/"+attempt]
	if f == nil {
		return "", fmt.Errorf("the hub has no light folder of %s/%s: %w", rig, attempt, fs.ErrNotExist)
	}
	f.used = time.Now()
	return filepath.Join(l.dir, rig, attempt), nil
}

// receive takes in a zip file of a stated size and hash. It is visible after all checks. The origin
// is the hub's own: the rig's is not unpacked.
func (l *lightStore) receive(ctx context.Context, rig, attempt string, s wire.LightState, from io.Reader,
	origin json.RawMessage) (err error) {
	in := path.Join(stagingDir, rand.Text())
	folder := path.Join(in, "set")
	if err := l.root.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.root.RemoveAll(in)) }()
	f, err := l.root.OpenFile(path.Join(in, "zip"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer f.Close() // is deleted
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(from, s.Bytes+1))
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != s.Bytes || got != s.SHA256 {
		return fmt.Errorf("%w: it has another size or hash than was announced", runzip.ErrRefused)
	}
	z, err := runzip.Open(f, n, runzip.Limits{Bytes: wire.MaxLight})
	if err != nil {
		return err
	}
	into, err := l.root.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer into.Close() // holds no data
	if err := z.Unpack(ctx, into, nil); err != nil {
		return err
	}
	if len(origin) > 0 {
		if err := staging.WriteFile(filepath.Join(l.dir, folder, session.OriginFile), origin, 0o640); err != nil {
			return err
		}
	}
	space, err := spaceOf(into)
	if err != nil {
		return err
	}
	if err := staging.WriteFile(filepath.Join(l.dir, folder, bytesFile), strconv.AppendInt(nil, space, 10),
		0o640); err != nil {
		return err
	}
	if err := fs.WalkDir(into.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = syncDir(filepath.Join(l.dir, folder, name))
		}
		return err
	}); err != nil {
		return err
	}
	return l.place(folder, rig, attempt, space)
}

// spaceOf returns the bytes of a folder on a disk: many more than those of its zip file.
func spaceOf(folder *os.Root) (bytes int64, err error) {
	const block = 4096
	err = fs.WalkDir(folder.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		if err == nil {
			bytes += (st.Size() + block - 1) / block * block
		}
		return err
	})
	return bytes, err
}

// place makes a folder visible.
func (l *lightStore) place(folder, rig, attempt string, bytes int64) error {
	name := rig + "/" + attempt
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[name] != nil {
		return nil // it came twice
	}
	if err := l.root.MkdirAll(rig, 0o750); err != nil {
		return err
	}
	_ = l.root.RemoveAll(name) // a part that was left by a deletion
	if err := l.root.Rename(folder, name); err != nil {
		return err
	}
	if err := errors.Join(syncDir(filepath.Join(l.dir, rig)), syncDir(l.dir)); err != nil {
		return err
	}
	l.add(name, bytes, time.Now())
	for l.bytes > l.max {
		oldest := l.oldest(name)
		if oldest == "" {
			break
		}
		if err := l.remove(oldest); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a folder. The lock is held.
func (l *lightStore) remove(name string) error {
	l.drop(name)
	// without this file the folder is not found again
	return errors.Join(l.root.Remove(name+"/"+bytesFile), l.root.RemoveAll(name))
}

// free deletes folders of so many bytes, the oldest first, but none that is needed or new.
func (l *lightStore) free(bytes int64, needed func(name string) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, old := l.bytes-bytes, time.Now().Add(-lightUnread)
	for _, name := range l.byAge() {
		if l.bytes > until && l.all[name].used.Before(old) && !needed(name) {
			if err := l.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// lightUnread is the time in which schedules read a light folder. A pool reads those of many rounds
// at once.
const lightUnread = 72 * time.Hour

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
