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

	"github.com/eideticker/eideticker/ringbuf"
)

// Bounds of the measurement, whichever is reached first.
const (
	diskTime  = 3 * time.Second
	diskBytes = 4 << 30
	diskBlock = 4 << 20 // of one write; recordings are written in such
	diskShare = 10      // at most this part of the free space
)

// Disk is what was measured of the disk that a folder is on.
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

// BytesPerSecond is how fast the disk took what was written.
func (d Disk) BytesPerSecond() float64 {
	return float64(d.Written) / max(d.Took.Seconds(), 1e-9)
}

// MeasureDisk writes bytes that do not compress to a file in the folder for a few seconds. The file has a name only until it is
// open (on systems where an open file can be removed), so that nothing stays whatever ends the program. openDirect opens
// a new file past the page cache, or fails with errors.ErrUnsupported.
//
// What goes wrong with the disk stands in the result. An error is returned when ctx ends.
func MeasureDisk(ctx context.Context, dir string, openDirect func(string) (*os.File, error)) (Disk, error) {
	d := Disk{Dir: dir}
	most := int64(diskBytes)
	if d.Free, d.SpaceErr = freeBytes(dir); d.SpaceErr == nil {
		most = min(most, d.Free/diskShare/diskBlock*diskBlock)
	}
	f, nameless, err := d.open(openDirect)
	if err != nil {
		d.Err = err
		return d, ctx.Err()
	}
	if most > 0 {
		err = d.write(ctx, f, most)
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
		// The name was made up; the folder is what the user knows.
		if inner := new(os.PathError); errors.As(err, &inner) {
			err = fmt.Errorf("cannot be written to: %w", inner.Err)
		}
		return nil, false, err
	}
	return f, os.Remove(path) == nil, nil
}

func (d *Disk) write(ctx context.Context, f *os.File, most int64) error {
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
	for d.Written < most && time.Since(started) < diskTime && ctx.Err() == nil {
		for i := 0; i < len(bytes); i += 4096 {
			binary.LittleEndian.PutUint64(bytes[i:], random.Uint64()) // no page twice, for disks that would notice
		}
		before := time.Now()
		n, err := f.Write(bytes)
		d.Longest = max(d.Longest, time.Since(before))
		d.Written += int64(n)
		if err != nil {
			return fmt.Errorf("write: %w", pathless(err))
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", pathless(err))
	}
	d.Took = time.Since(started)
	return nil
}

// pathless takes the made-up name of the file out of an error.
func pathless(err error) error {
	if inner := new(os.PathError); errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
