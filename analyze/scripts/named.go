package scripts

import "fmt"

// Named returns name and place of a function by its number. A number that was not served has a name
// only.
func (r *Run) Named(number uint32) (name, url string, line, column int) {
	p, f := r.function(number)
	if f == nil {
		return fmt.Sprintf("function %d, which was not served", number), "", 0, 0
	}
	return f.Name, p.URL, f.Line, f.Column
}
