package doctor

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/eideticker/eideticker/analyze/runfolder/staging"
	"github.com/eideticker/eideticker/ringbuf"
)

// How long a disk may be written to. Many have a cache that takes seconds to fill.
const (
	MinDiskTime = time.Second
	MaxDiskTime = 10 * time.Minute
)

// Bounds of the file that is written, from its beginning again when it is full.
const (
	diskBytes = 4 << 30
	diskBlock = 4 << 20 // of one write; recordings are written in such
	diskShare = 10      // at most this part of the free space
)

// errNoFiles says that a folder is there and takes no files, as those of the kernel do.
var errNoFiles = errors.New("no file can be made there: it is not on a disk")

// Disk has the measurements of the disk of a folder.
type Disk struct {
	Dir      string
	Err      error // why nothing could be written
	Written  int64 // bytes, all of them on the disk in the end
	Took     time.Duration
	Longest  time.Duration // of one write
	Direct   bool          // the page cache was passed by
	Free     int64         // bytes for this user
	SpaceErr error         // why Free is not known
	// DirectNote says why the page cache was not passed by.
	DirectNote string
}

// bytesPerSecond is the speed at which the disk took the data.
func (d Disk) bytesPerSecond() float64 {
	return float64(d.Written) / max(d.Took.Seconds(), 1e-9)
}

// measureDisk writes incompressible bytes to a file in the folder for the given duration. The file
// is a circle of at most a tenth of the free space. Data in the page cache must be on the disk
// before it is overwritten. The file loses its name once it is open, where the system allows that.
// So it is gone whatever ends the program. openDirect opens a new file past the page cache, or
// fails with errors.ErrUnsupported.
//
// Errors of the disk are in the result. measureDisk returns an error when ctx ends.
func measureDisk(ctx context.Context, dir string, duration time.Duration,
	openDirect func(string) (*os.File, error)) (Disk, error) {
	d := Disk{Dir: dir}
	most := int64(diskBytes)
	if d.Free, d.SpaceErr = staging.FreeBytes(dir); d.SpaceErr == nil {
		most = min(most, d.Free/diskShare/diskBlock*diskBlock)
	}
	f, nameless, err := d.open(openDirect)
	if err != nil {
		d.Err = err
		return d, ctx.Err()
	}
	if most > 0 {
		err = d.write(ctx, f, most, duration)
	} else {
		err = fmt.Errorf("not measured: only %s are free", sizeText(float64(d.Free)))
	}
	err = errors.Join(err, f.Close())
	if !nameless {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if ctx.Err() != nil {
		return d, ctx.Err()
	}
	d.Err = err
	return d, nil
}

// open creates the file and takes its name away where that is possible.
func (d *Disk) open(openDirect func(string) (*os.File, error)) (f *os.File, nameless bool, err error) {
	path := filepath.Join(d.Dir, ".eideticker-doctor-"+rand.Text())
	f, err = openDirect(path)
	d.Direct = err == nil
	if errors.Is(err, errors.ErrUnsupported) {
		d.DirectNote = err.Error()
		// Some systems make the file and then refuse.
		if rest := os.Remove(path); rest != nil && !errors.Is(rest, os.ErrNotExist) {
			return nil, false, rest
		}
		f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		if _, there := os.Stat(d.Dir); there == nil && errors.Is(err, os.ErrNotExist) {
			return nil, false, errNoFiles
		}
		// The name was made up; the folder is what the user knows.
		if inner := new(os.PathError); errors.As(err, &inner) {
			err = fmt.Errorf("cannot be written to: %w", inner.Err)
		}
		return nil, false, err
	}
	return f, os.Remove(path) == nil, nil
}

// write writes for a time, in a circle of so many bytes, which are a multiple of a block.
func (d *Disk) write(ctx context.Context, f *os.File, circle int64, duration time.Duration) error {
	block, err := ringbuf.Map(diskBlock, ringbuf.MapOptions{Prefault: true}) // page-aligned, as O_DIRECT wants it
	if err != nil {
		return err
	}
	defer block.Close() // anonymous memory: nothing can be lost
	random := mathrand.NewPCG(math.MaxUint64, diskBlock)
	bytes := block.Bytes()
	for i := 0; i < len(bytes); i += 8 {
		binary.LittleEndian.PutUint64(bytes[i:], random.Uint64())
	}
	started := time.Now()
	for time.Since(started) < duration && ctx.Err() == nil {
		for i := 0; i < len(bytes); i += 4096 {
			binary.LittleEndian.PutUint64(bytes[i:], random.Uint64()) // no page twice, for disks that would notice
		}
		before := time.Now()
		n, err := f.WriteAt(bytes, d.Written%circle)
		d.Longest = max(d.Longest, time.Since(before))
		d.Written += int64(n)
		if err != nil {
			return fmt.Errorf("write: %w", staging.WithoutPath(err))
		}
		if !d.Direct && d.Written%circle == 0 { // or memory would be written over, and the disk see none of it
			if err := f.Sync(); err != nil {
				return fmt.Errorf("sync: %w", staging.WithoutPath(err))
			}
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", staging.WithoutPath(err))
	}
	d.Took = time.Since(started)
	return nil
}
