package replay

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
)

// readArchive reads an archive of a size in bytes. It follows the entries from the front, by the
// headers before them. The directory at the end is for other programs. An archive without it lacks
// nothing, and it cannot contradict the entries.
func readArchive(r io.ReaderAt, size int64, l Limits) (*Archive, error) {
	s := scanner{r: r, size: size, limits: l}
	a := &Archive{}
	defer a.sort()
	pool, texts := newPool(l), l.Texts
	for begun, holes := false, false; ; {
		at := s.at
		e, err := s.next()
		var damage *damageError
		switch {
		case errors.As(err, &damage) && begun && e != nil:
			a.note("%s, at byte %d, is damaged (%v), and left out", sentence(e.name), at, damage)
			holes = true
			continue
		case errors.As(err, &damage) && begun:
			a.note("incomplete from byte %d on (%v): only earlier exchanges are available",
				at, damage)
			return a, nil
		case err != nil:
			return nil, err
		case e == nil:
			if !begun {
				return nil, errors.New("there is nothing in it")
			}
			return a, nil
		}
		if !begun {
			if err := a.begin(e); err != nil {
				return nil, err
			}
			begun = true
			continue
		}
		if !strings.HasPrefix(e.name, "bodies/") {
			if texts -= int64(len(e.text)); texts < 0 {
				return nil, fmt.Errorf("at byte %d: its exchanges have more than %d bytes, without their bodies", at,
					l.Texts)
			}
		}
		if err := a.add(e, pool, l); err != nil {
			if errors.Is(err, errNoBody) && holes {
				a.note("%s is left out: %v", sentence(e.name), err)
				continue
			}
			return nil, fmt.Errorf("%s, at byte %d: %w", sentence(e.name), at, err)
		}
	}
}

// sort puts exchanges in the order in which they began.
func (a *Archive) sort() {
	slices.SortStableFunc(a.Exchanges, func(x, y *Exchange) int { return cmp.Compare(x.Began, y.Began) })
}

func (a *Archive) begin(e *entry) error {
	var info infoWire
	if e.name != "archive.json" || strictly(e.text, &info) != nil || info.Format != formatName {
		return errors.New("a zip file, but not a site archive")
	}
	if info.Version != formatVersion {
		return fmt.Errorf("format version %d, this program reads %d", info.Version, formatVersion)
	}
	a.Info = Info{sentence(info.Writer), info.Created, info.Clock, info.Seed}
	return nil
}

func (a *Archive) add(e *entry, p *pool, l Limits) error {
	switch {
	case strings.HasPrefix(e.name, "bodies/"):
		sum, err := parseSum(strings.TrimPrefix(e.name, "bodies/"))
		if err != nil {
			return err
		}
		body, err := p.take(e.text)
		if err == nil && body.Sum != sum {
			err = errors.New("the body is not what its name says")
		}
		return err
	case strings.HasPrefix(e.name, "exchanges/"):
		if len(a.Exchanges) == l.Exchanges {
			return fmt.Errorf("there are more than %d exchanges", l.Exchanges)
		}
		var w exchangeWire
		if err := strictly(e.text, &w); err != nil {
			return err
		}
		x, err := w.exchange(l, p.bodies)
		if err != nil {
			return err
		}
		if n := len(a.Exchanges); x.Number < 1 || n > 0 && x.Number <= a.Exchanges[n-1].Number ||
			e.name != exchangeName(x.Number) {
			return errors.New("its number is not one that follows")
		}
		a.Exchanges = append(a.Exchanges, x)
	default:
		a.note("%q belongs to no archive of this version, and is left out", e.name)
	}
	return nil
}

// damageError says that an entry is not whole, or not what its checksum says.
type damageError struct{ what string }

func (e *damageError) Error() string { return e.what }

// errNoBody says that an exchange's body is not in the archive.
var errNoBody = errors.New("its body is not there")

// entry is one file in an archive.
type entry struct {
	name string
	text []byte
}

// scanner reads entries, see APPNOTE.TXT of PKWARE, 4.3.7.
type scanner struct {
	r        io.ReaderAt
	size, at int64
	limits   Limits
}

const (
	entryMagic     = 0x04034b50
	directoryMagic = 0x02014b50
	endMagic       = 0x06054b50
	headBytes      = 30
	maxName        = 200
	// Deflate makes at most 1032 bytes of one (zlib's documentation): what says more is none.
	maxRatio = 1032 // and at worst adds a little to what does not pack
)

// next returns the entry that follows; nil: the archive is at its end, as it should be. With a
// damageError it returns the entry, without its text, if the next one can still be found.
func (s *scanner) next() (*entry, error) {
	if s.at == s.size {
		return nil, &damageError{"its end is missing"}
	}
	head := make([]byte, headBytes)
	if err := s.read(head[:4]); err != nil {
		return nil, err
	}
	switch binary.LittleEndian.Uint32(head) {
	case directoryMagic, endMagic:
		return nil, nil
	case entryMagic:
	default:
		return nil, &damageError{"no entry begins there"}
	}
	if err := s.read(head[4:]); err != nil {
		return nil, err
	}
	flags, method := binary.LittleEndian.Uint16(head[6:]), binary.LittleEndian.Uint16(head[8:])
	sum := binary.LittleEndian.Uint32(head[14:])
	packed, size := int64(binary.LittleEndian.Uint32(head[18:])), int64(binary.LittleEndian.Uint32(head[22:]))
	nameLen, extraLen := int64(binary.LittleEndian.Uint16(head[26:])), int64(binary.LittleEndian.Uint16(head[28:]))
	switch {
	case flags&^(1<<11|3<<1) != 0: // all but UTF-8 names and the effort of deflate
		return nil, errors.New("an entry is encrypted, or packed again by another program")
	case nameLen == 0 || nameLen > maxName:
		return nil, fmt.Errorf("a name of %d bytes is none of an archive", nameLen)
	case extraLen > 1000:
		return nil, errors.New("an entry has more than an archive's entries have")
	case size > s.most():
		return nil, fmt.Errorf("an entry of %d bytes is larger than one may be", size)
	case method != 0 && method != 8 || method == 0 && packed != size || packed*maxRatio < size-maxRatio ||
		packed > size+size/1000+64:
		return nil, errors.New("an entry says of itself what cannot be")
	}
	rest := make([]byte, nameLen+extraLen)
	if err := s.read(rest); err != nil {
		return nil, err
	}
	if packed > s.size-s.at {
		return nil, &damageError{"it is cut off"}
	}
	data := make([]byte, packed)
	if err := s.read(data); err != nil {
		return nil, err
	}
	e := &entry{name: string(rest[:nameLen])}
	if method == 8 {
		var err error
		if data, err = inflate(data, size); err != nil {
			return e, err
		}
	}
	if crc32.ChecksumIEEE(data) != sum {
		return e, &damageError{"a checksum is not met"}
	}
	e.text = data
	return e, nil
}

// most is what an entry may have at most: a body, or an exchange with all its headers in JSON,
// where a byte takes up to six.
func (s *scanner) most() int64 {
	return max(s.limits.Body, maxRequestBody,
		int64(6*(3*s.limits.Header+s.limits.URL+40*s.limits.Fields)+60*s.limits.Chunks+100<<10))
}

func (s *scanner) read(to []byte) error {
	if int64(len(to)) > s.size-s.at {
		return &damageError{"it is cut off"}
	}
	n, err := s.r.ReadAt(to, s.at)
	s.at += int64(n)
	if n == len(to) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return &damageError{"it is cut off"}
	}
	return err
}

func inflate(data []byte, size int64) ([]byte, error) {
	z := flate.NewReader(bytes.NewReader(data))
	defer z.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, size+1))
	if err != nil || n != size {
		return nil, &damageError{"packed data cannot be unpacked"}
	}
	return out.Bytes(), nil
}
