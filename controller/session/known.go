package session

import (
	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/netsim/link"
	"github.com/eideticker/eideticker/netsim/site"
)

// Known is what test files are held against: the pages that we serve, and all that can be measured.
func Known() suite.Known {
	k := suite.Known{Measures: append(analyze.Names(), analyze.QualityName), Values: map[string][]string{}}
	for _, m := range k.Measures {
		k.Values[m] = analyze.Values(m)
	}
	for _, p := range site.Pages() {
		k.Pages = append(k.Pages, p.Path)
	}
	for _, p := range link.Profiles() {
		k.Networks = append(k.Networks, p.Name)
	}
	return k
}
