package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Body is what a message carried, known by its hash. Its bytes are shared with other bodies that
// are the same: they must not be changed.
type Body struct {
	Sum   [sha256.Size]byte // SHA-256 of Bytes
	Size  int64
	Bytes []byte
}

// newBody takes bytes, which are not copied.
func newBody(b []byte) Body {
	if len(b) == 0 {
		return Body{}
	}
	return Body{sha256.Sum256(b), int64(len(b)), b}
}

// name is the body's name in an archive.
func (b *Body) name() string { return "bodies/" + hex.EncodeToString(b.Sum[:]) }

// parseSum reads a hash as archives have it.
func parseSum(text string) (sum [sha256.Size]byte, err error) {
	if len(text) != 2*sha256.Size {
		return sum, errors.New("a body's hash is not SHA-256")
	}
	if _, err := hex.Decode(sum[:], []byte(text)); err != nil || hex.EncodeToString(sum[:]) != text {
		return sum, errors.New("a body's hash is not SHA-256")
	}
	return sum, nil
}

// pool shares bodies that are the same, and bounds what all of them take.
type pool struct {
	bodies map[[sha256.Size]byte]Body
	left   int64
}

func newPool(l Limits) *pool { return &pool{map[[sha256.Size]byte]Body{}, l.Total} }

// take returns the body that is kept for bytes.
func (p *pool) take(b []byte) (Body, error) {
	body := newBody(b)
	if body.Size == 0 {
		return body, nil
	}
	if have, ok := p.bodies[body.Sum]; ok {
		return have, nil
	}
	if body.Size > p.left {
		return Body{}, fmt.Errorf("its bodies are more than are taken together")
	}
	p.left -= body.Size
	p.bodies[body.Sum] = body
	return body, nil
}
