package rowdelta

import (
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// Packer compresses blocks. One belongs to one goroutine.
type Packer struct {
	lz lz4.CompressorCCompat
}

// Compression that a packer is asked for. Higher is faster and larger.
const (
	Thorough   = 0  // residuals, where they are smaller than LZ4's bytes
	Smallest   = 1  // LZ4 acceleration 1
	fastest    = 16 // LZ4 acceleration 16
	uncompress = 17 // store as it is
)

// Acceleration returns the compression level for a pressure. 0 means enough time. 1 means that
// frames are about to be lost.
func Acceleration(pressure float64) int {
	switch {
	case pressure >= 0.75:
		return uncompress
	case pressure <= 0.2:
		return Thorough
	case pressure <= 0.25:
		return Smallest
	}
	return Smallest + int((pressure-0.25)*2*(fastest-Smallest)+0.5)
}

// PackBound is how many bytes dst of [Packer.Pack] must hold for a block of n.
func PackBound(n int) int { return lz4.CompressBlockBound(n) }

const (
	probeSize = 4 << 10
	littleLZ  = 2*probeSize - probeSize/worthIt // bytes of both probes with which LZ4 saves nothing
	worthIt   = 32                              // a block is stored as it is unless LZ4 saves a 32nd
)

// Pack compresses src into dst and returns the number of bytes written. It returns 0 if src is
// better stored as it is. A large block is tried at two places first, so that noise does not cost a
// full attempt.
func (p *Packer) Pack(src, dst []byte, acceleration int) (int, error) {
	if acceleration >= uncompress || len(src) < 16 {
		return 0, nil
	}
	part, err := p.probe(src, dst, acceleration)
	if err != nil || part >= littleLZ {
		return 0, err
	}
	return p.compress(src, dst)
}

// probe returns into how many bytes two parts of a block are compressed that have probeSize bytes
// each. It returns 0 if the block is too small to be worth it.
func (p *Packer) probe(src, dst []byte, acceleration int) (int, error) {
	p.lz.Acceleration = acceleration
	if len(src) < 16*probeSize {
		return 0, nil
	}
	sum := 0
	for _, at := range [2]int{0, len(src) / 2} {
		n, err := p.lz.CompressBlock(src[at:at+probeSize], dst)
		if err != nil {
			return 0, fmt.Errorf("compress block: %w", err)
		}
		if n == 0 {
			n = probeSize
		}
		sum += n
	}
	return sum, nil
}

// compress is Pack without the probe, at the acceleration of the probe.
func (p *Packer) compress(src, dst []byte) (int, error) {
	n, err := p.lz.CompressBlock(src, dst)
	if err != nil {
		return 0, fmt.Errorf("compress block: %w", err)
	}
	if n >= len(src)-len(src)/worthIt {
		return 0, nil
	}
	return n, nil
}

// Unpack restores a block of len(dst) bytes from what Pack wrote.
func Unpack(src, dst []byte) error {
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return fmt.Errorf("decompress block: %w", err)
	}
	if n != len(dst) {
		return fmt.Errorf("decompress block: got %d bytes, want %d", n, len(dst))
	}
	return nil
}
