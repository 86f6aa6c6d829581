package session

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
)

// policiesOf returns the policies of a test. Those of an A/B test have its replacements and the
// version of this load.
func policiesOf(t *suite.Test) ([]policy.Policy, error) {
	all, err := policy.Named(strings.Join(t.Script.Policies, ","))
	i := slices.IndexFunc(all, func(p policy.Policy) bool { return p.Name == policy.NameAB })
	if err != nil || i < 0 {
		return all, err
	}
	o := policy.AB{Share: 0.5, Seed: rand.Uint32()}
	switch t.Script.Version {
	case suite.Original:
		o.Share = 0
	case suite.Replaced:
		o.Share = 1
	}
	for _, r := range t.Script.AB {
		if r.Text == "" {
			if r.Text, err = replacement(t.Dir, r.With); err != nil {
				return nil, err
			}
		}
		o.Replacements = append(o.Replacements, policy.Replacement{Function: r.Function, Text: r.Text})
	}
	all[i], err = o.Policy()
	return all, err
}

// replacement reads the text of a replacement beside its test.
func replacement(dir fs.FS, name string) (string, error) {
	if dir == nil {
		return "", fmt.Errorf("replacement %s: the folder of the test is unknown", name)
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", fmt.Errorf("replacement: %w", err)
	}
	defer f.Close() // was only read
	text, err := io.ReadAll(io.LimitReader(f, policy.MaxReplacement+1))
	return string(text), err
}
