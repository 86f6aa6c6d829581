package wording

import (
	"fmt"
	"slices"
	"strings"
)

// Meant returns what to append to a problem with a word: the one of those there are that it is
// nearest to, or all of them.
func Meant(word string, there []string) string {
	if near := Near(word, there); near != "" {
		return near
	}
	const most = 30
	list := slices.Sorted(slices.Values(there))
	if len(list) > most {
		list = append(list[:most], "…")
	}
	if len(list) == 0 {
		return "; none are known"
	}
	return "; known: " + strings.Join(list, ", ")
}

// Near returns what to append to a problem with a word: the nearest of those there are, or nothing.
func Near(word string, there []string) string {
	if near := Nearest(word, there); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
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
