package builds

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/config"
)

// archiveEnding ends the names of archives that are kept for other rigs, beside their folders.
const archiveEnding = ".archive"

// fleet is a feed whose builds another rig of the fleet has made and signed. The hub names them
// instead of an index.
type fleet struct {
	key   string
	fetch func(ctx context.Context, sum string, to *os.File, limit int64) error
}

func (fleet) list(context.Context, map[string]api.Build) ([]api.Build, error) { return nil, nil }

func (f fleet) open(ctx context.Context, b api.Build, work string) (opened, error) {
	if f.fetch == nil {
		return opened{}, errors.New("this machine is in no fleet that has it")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTime, fmt.Errorf("timeout after %v", downloadTime))
	defer cancel()
	path := filepath.Join(work, "archive")
	out, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return opened{}, err
	}
	err = f.fetch(ctx, b.SHA256, out, maxArchive)
	if st, e := out.Stat(); err == nil && (e != nil || st.Size() > maxArchive) {
		err = errors.Join(fmt.Errorf("it has over %d bytes", int64(maxArchive)), e)
	}
	return opened{archive: path, fetched: true}, errors.Join(err, out.Close())
}

// CheckKey returns an error if the key of a feed of a fleet cannot be read.
func CheckKey(c config.Feed) (err error) {
	if c.Sign != "" {
		_, err = signer(c.Sign)
	} else if c.Kind == config.FeedFleet {
		_, err = signature(c.Key)
	}
	return err
}

// Learn keeps a build of a feed of kind fleet, if its line has the signature of the feed's key. A
// known build keeps its content.
func (c *Cache) Learn(feed, build string, text []byte) error {
	f, err := c.feed(feed)
	if err != nil {
		return err
	}
	of, is := f.source.(fleet)
	if !is {
		return fmt.Errorf("feed %s gets no builds of a fleet: its kind is another one", feed)
	}
	signed, err := signature(of.key)
	var all []api.Build
	if err == nil {
		all, err = parseLines(text, signed)
	}
	if err == nil && (len(all) != 1 || all[0].Name != build) {
		err = errors.New("its line is one of another build")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = f.load()
	}
	if err == nil {
		if sum := f.known()[build].SHA256; sum != "" && sum != all[0].SHA256 {
			err = errors.New(changed(sum, all[0].SHA256))
		} else if all, err = merge(feed, f.builds, all, true); err == nil {
			err = f.save(all)
		}
	}
	if err != nil {
		return fmt.Errorf("build %s:%.100s: %w", feed, build, err)
	}
	return nil
}

// Export returns a build for other rigs: its signed line, and the hash and size of its archive. It
// makes the build within quiet if the cache has no archive of it.
func (c *Cache) Export(ctx context.Context, feed, build string,
	quiet func(context.Context, func() error) error) (text []byte, sum string, bytes int64, err error) {
	f, err := c.feed(feed)
	if err == nil && f.sign == "" {
		err = fmt.Errorf("feed %s has no key that signs its builds", feed)
	}
	if err != nil {
		return nil, "", 0, err
	}
	sign, err := signer(f.sign)
	var b api.Build
	if err == nil {
		b, err = c.known(ctx, f, build)
	}
	if err == nil && !c.archived(b.SHA256) {
		err = quiet(ctx, func() error {
			c.changing <- struct{}{}
			defer func() { <-c.changing }()
			_, err := c.bring(ctx, f, b)
			return err
		})
		c.evict()
	}
	if err == nil {
		b, err = c.known(ctx, f, build) // with the hash
	}
	var st fs.FileInfo
	if err == nil {
		st, err = os.Stat(c.archive(b.SHA256))
	}
	if err == nil && st.Size() > maxArchive {
		err = fmt.Errorf("its archive has over %d bytes", int64(maxArchive))
	}
	if err != nil {
		return nil, "", 0, fmt.Errorf("build %s:%s: %w", feed, build, err)
	}
	l := line{Seq: b.Seq, Build: b.Name, Revision: b.Revision, Parent: b.Parent, Subject: b.Subject,
		Time: time.Unix(0, b.WallNS).UTC(), URL: b.SHA256, SHA256: b.SHA256}
	sign(&l)
	text, err = json.Marshal(l)
	return text, b.SHA256, st.Size(), err
}

func (c *Cache) archive(sum string) string { return filepath.Join(c.dir, sum+archiveEnding) }

// archived reports if the cache has an archive, and notes its use.
func (c *Cache) archived(sum string) bool {
	return sum != "" && os.Chtimes(c.archive(sum), c.now(), c.now()) == nil
}

// Archive opens the archive of a build for other rigs.
func (c *Cache) Archive(sum string) (*os.File, error) {
	c.mu.Lock()
	_, is := c.sizes[sum+archiveEnding] // the hash may be any text
	c.mu.Unlock()
	if !is || !c.archived(sum) {
		return nil, fs.ErrNotExist
	}
	return os.Open(c.archive(sum))
}

// keepArchive moves a build's archive into the cache.
func (c *Cache) keepArchive(from, sum string) error {
	st, err := os.Stat(from)
	if err == nil {
		err = os.Rename(from, c.archive(sum))
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes[sum+archiveEnding] = st.Size()
	return nil
}

// pack writes a tree as an archive. Equal trees have equal archives.
func pack(ctx context.Context, tree, to string) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the level is valid
	t := tar.NewWriter(z)
	err = filepath.WalkDir(tree, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(tree, path) // path is below it
		if err = cmp.Or(err, context.Cause(ctx)); err != nil || rel == "." {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(rel), Typeflag: tar.TypeReg, Mode: 0o644 | int64(st.Mode()&0o111),
			Size: st.Size()}
		switch {
		case e.IsDir():
			h.Typeflag, h.Mode, h.Size, h.Name = tar.TypeDir, 0o755, 0, h.Name+"/"
			return t.WriteHeader(h)
		case !st.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder; a signed build has no links", rel)
		}
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		defer from.Close() // only read
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(t, &counted{ctx, from, st.Size() + 1})
		return err
	})
	return errors.Join(err, t.Close(), z.Close(), out.Close())
}
