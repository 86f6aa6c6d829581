package subject

import (
	"fmt"

	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

// Versions returns a test with the originals and with the replacements of its functions, if it has
// some. Their runs take turns.
func Versions(all []session.Subject) ([]session.Subject, error) {
	for _, s := range all {
		if len(s.Test.Script.AB) > 0 && len(all) > 1 {
			return nil, fmt.Errorf("test %s replaces functions, which is compared with itself; name one test",
				s.Test.Name)
		}
	}
	if len(all) == 0 || len(all[0].Test.Script.AB) == 0 {
		return all, nil
	}
	original, replaced := *all[0].Test, *all[0].Test
	original.Script.Version, replaced.Script.Version = suite.Original, suite.Replaced
	return []session.Subject{{Name: string(suite.Original), Test: &original},
		{Name: string(suite.Replaced), Test: &replaced}}, nil
}
