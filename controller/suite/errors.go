package suite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/internal/strict"
)

// Error is an error in a test file, with its place.
type Error = strict.Error

// Errors are two or more errors in one test file, in the order of their places.
type Errors []*Error

// Error returns the first error, and the number of others.
func (e Errors) Error() string {
	return fmt.Sprintf("%v (and %s; eideticker suite check lists all)", e[0], wording.Plural(len(e)-1, "more problem"))
}

// Unwrap returns all errors.
func (e Errors) Unwrap() (all []error) {
	for _, one := range e {
		all = append(all, one)
	}
	return all
}

// maxErrors bounds the reported errors of one file.
const maxErrors = 50

// sorted returns joined errors of one file as an *Error or as Errors.
func sorted(err error) error {
	var all Errors
	for _, one := range Parts(err) {
		if e, ok := one.(*Error); ok && !slices.ContainsFunc(all, func(o *Error) bool { return *o == *e }) {
			all = append(all, e)
		}
		if len(all) == maxErrors {
			break
		}
	}
	switch len(all) {
	case 0:
		return err
	case 1:
		return all[0]
	}
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return all
}

// Parts returns the errors that are joined in one.
func Parts(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, Parts(one)...)
	}
	return all
}

// InFile names the file of the errors of a test file, and reports whether there is one.
func InFile(err error, file string) bool {
	found := false
	for _, one := range Parts(err) {
		var e *Error
		if errors.As(one, &e) {
			e.File, found = file, true
		}
	}
	return found
}
