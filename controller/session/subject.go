package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/controller/suite"
)

// Subject is one side of a comparison. Empty fields are those of the set.
type Subject struct {
	Name            string // of its variant; "": the test's
	Test            *suite.Test
	Device, Browser string
	Program         string // file of the browser
	Site            string // folder of the build of a site
}

// Variants returns all browsers on all devices for each subject, at most limit. It opens each
// device once.
func Variants(subjects []Subject, devices, browsers []string, limit int, open func(string) (Device, error)) (
	all []Variant, err error) {
	opened := map[string]Device{}
	for i, s := range subjects {
		on, in := devices, browsers
		if s.Device != "" || len(on) == 0 {
			on = []string{cmp.Or(s.Device, "local")}
		}
		if s.Browser != "" || len(in) == 0 {
			in = []string{s.Browser}
		}
		if n := len(subjects) * len(on) * len(in); n > limit {
			return nil, fmt.Errorf("%d variants: at most %d can take turns", n, limit)
		}
		for _, name := range on {
			if opened[name] == nil {
				if opened[name], err = open(name); err != nil {
					return nil, err
				}
			}
			for _, b := range in {
				v := Variant{Device: opened[name], Browser: b, Program: s.Program, Site: s.Site}
				if len(subjects) > 1 || s.Name != "" {
					v.Test, v.Called = s.Test, s.called(subjects[:i])
					if len(on)*len(in) > 1 {
						v.Called += "-" + Variant{Device: v.Device, Browser: b}.Name()
					}
				}
				if slices.ContainsFunc(all, func(o Variant) bool { return o.Name() == v.Name() }) {
					return nil, fmt.Errorf("%s is given twice; to compare a test with itself, name the test twice",
						v.Name())
				}
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// called returns the name of a subject, with a number if an earlier one has the same test.
func (s *Subject) called(before []Subject) string {
	if s.Name != "" {
		return s.Name
	}
	same := 1
	for _, o := range before {
		if o.Test.Name == s.Test.Name {
			same++
		}
	}
	if same == 1 {
		return s.Test.Name
	}
	return fmt.Sprintf("%s-%d", s.Test.Name, same)
}
