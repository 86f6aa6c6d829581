package strict

import (
	"fmt"
	"slices"
	"strings"
)

// Error is an error in a file, with its place.
type Error struct {
	File         string
	Line, Column int    // from 1; the column counts characters. 0: the file as a whole
	Problem      string // with a similar word
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// Meant returns what to append to a problem with a word: the one of those there are that it is
// nearest to, or all of them.
func Meant(word string, there []string) string {
	if near := Nearest(word, there); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	const most = 24
	list := slices.Sorted(slices.Values(there))
	if len(list) > most {
		list = append(list[:most], "…")
	}
	if len(list) == 0 {
		return "; none are known"
	}
	return "; known: " + strings.Join(list, ", ")
}

// Nearest returns the word that differs in the fewest letters, if those are few; the first of
// several in the alphabet.
func Nearest(word string, there []string) (near string) {
	const longest = 100 // no word that is meant is longer
	if len(word) > longest {
		return ""
	}
	low := strings.ToLower(word)
	best := max(1, len(low)/3) + 1
	for _, w := range slices.Sorted(slices.Values(there)) {
		d := distance(low, strings.ToLower(w))
		if len(low) >= 3 && strings.HasPrefix(strings.ToLower(w), low) {
			d = min(d, 1)
		}
		if d < best {
			near, best = w, d
		}
	}
	return near
}

// distance is Damerau's, with neighbours swapped at most once (optimal string alignment). It counts
// inserted, missing, replaced and swapped letters.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	above, row := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, make([]int, len(y)+1)
	}
	return above[len(y)]
}

// Clip shortens what a message quotes.
func Clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
