package trend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/pattern"
)

// Kinds of sets.
const (
	KindPoint   = "point"   // its runs are points
	KindConfirm = "confirm" // fresh runs of two builds, which judge a change
	KindCheck   = "check"   // runs of the control alone, which judge the lab
	KindBisect  = "bisect"  // a step of a bisection, of which incomplete blocks count too
	KindExplain = "explain" // runs with measuring code, which name the function of a change
)

// Roles of variants. Before and After are those of a confirmation. A bisection has Middle too.
const (
	Subject = "subject"
	Rival   = "rival"
	Control = "control"
	Before  = "before"
	After   = "after"
	Middle  = "middle"
)

// Origin says why a set was made.
type Origin struct {
	Schedule string `json:"schedule"` // or bisection
	Feed     string `json:"feed,omitempty"`
	// Seq and Build are those of the subject; of a confirmation, those at the candidate.
	Seq    int64           `json:"seq"`
	Build  string          `json:"build"`
	Kind   string          `json:"kind"`
	Change int64           `json:"change,omitempty"` // that a confirmation or explanation is about
	Value  string          `json:"value,omitempty"`  // MEASURE.VALUE that is read beside the headlines
	Roles  map[string]Role `json:"roles"`            // by the name of the variant
	Pool   string          `json:"pool,omitempty"`   // of the device, if its points are in the pool's series
}

// PoolDevice returns the device in the keys of a pool's series. Names of devices have no space.
func PoolDevice(pool string) string { return "pool " + pool }

// Role is that of a variant, and its build.
type Role struct {
	Role    string `json:"role"`
	Product string `json:"product"`
	Feed    string `json:"feed,omitempty"`
	Build   string `json:"build,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
}

const (
	maxOrigin = 64 << 10
	maxRoles  = api.MaxVariants
)

var plainName = pattern.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// DecodeOrigin reads an origin.json from anywhere. Unknown fields are errors.
func DecodeOrigin(from io.Reader) (o Origin, err error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxOrigin+1))
	if err == nil {
		err = o.decode(raw)
	}
	if err != nil {
		return Origin{}, fmt.Errorf("read %s: %w", session.OriginFile, err)
	}
	return o, nil
}

func (o *Origin) decode(raw []byte) error {
	if len(raw) > maxOrigin {
		return fmt.Errorf("larger than %d KiB", maxOrigin>>10)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(o); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one object")
	}
	return o.check()
}

// check bounds all fields.
func (o *Origin) check() error {
	if !plainName.MatchString(o.Schedule) {
		return fmt.Errorf("schedule is %.40q: must be a name", o.Schedule)
	}
	if o.Pool != "" && !plainName.MatchString(o.Pool) {
		return fmt.Errorf("pool is %.40q: must be a name", o.Pool)
	}
	kinds := []string{KindPoint, KindConfirm, KindCheck, KindBisect, KindExplain}
	if !slices.Contains(kinds, o.Kind) {
		return fmt.Errorf("kind is %.40q: must be one of %s", o.Kind, strings.Join(kinds, ", "))
	}
	if o.Seq < 0 || o.Seq > maxSeq || o.Change < 0 || len(o.Roles) == 0 || len(o.Roles) > maxRoles {
		return fmt.Errorf("seq, change or the number of roles is out of range; roles: 1 to %d", maxRoles)
	}
	texts := []string{o.Feed, o.Build, o.Value}
	seen := map[Role]bool{}
	for name, r := range o.Roles {
		if !plainName.MatchString(name) {
			return fmt.Errorf("variant is %.40q: must be a name", name)
		}
		if !slices.Contains([]string{Subject, Rival, Control, Before, After, Middle}, r.Role) || r.Seq < 0 ||
			r.Seq > maxSeq {
			return fmt.Errorf("variant %s has role %.40q and seq %d", name, r.Role, r.Seq)
		}
		texts = append(texts, r.Product, r.Feed, r.Build)
		key := Role{Role: r.Role, Product: r.Product, Feed: r.Feed}
		if seen[key] {
			return fmt.Errorf("two variants are %s %s of feed %.40q", r.Role, r.Product, r.Feed)
		}
		seen[key] = true
	}
	for _, text := range texts {
		if len(text) > api.MaxName || !utf8.ValidString(text) {
			return fmt.Errorf("%.40q: must be UTF-8 with at most %d bytes", text, api.MaxName)
		}
	}
	return nil
}
