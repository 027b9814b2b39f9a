package edit

import (
	"regexp"
	"strings"
)

var (
	wordPattern = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	// chainPattern is what is written of a traversal before the word at the cursor
	chainPattern = regexp.MustCompile(`[A-Za-z0-9_#\]\[.?*]+$`)
)

// likeness says how alike a name and the words before the cursor are: the value of status is most often input.status.
func (c *completion) likeness(name string) float64 {
	if c.before == nil {
		line := c.line()
		line = chainPattern.ReplaceAllString(line[max(0, len(line)-maxHeader):], "")
		c.before = append(wordPattern.FindAllString(line, -1), "")
	}
	best, weight := 0.0, 40.0
	for i := len(c.before) - 2; i >= 0 && weight > 10; i-- {
		best = max(best, weight*similarity(c.before[i], name))
		weight *= 0.8
	}
	return best
}

// similarity is 1 for names that differ in case and separators only, and 0 for unlike ones.
func similarity(a, b string) float64 {
	plain := strings.NewReplacer("_", "", "-", "", ".", "")
	a, b = plain.Replace(strings.ToLower(a)), plain.Replace(strings.ToLower(b))
	switch {
	case a == b:
		return 1
	case len(a) < 3 || len(b) < 3:
		return 0
	case strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s"):
		return 0.9
	case strings.HasPrefix(a, b), strings.HasPrefix(b, a), strings.HasSuffix(a, b), strings.HasSuffix(b, a):
		return 0.6
	case strings.HasPrefix(b, strings.TrimSuffix(a, "s")):
		return 0.5
	case strings.Contains(a, b), strings.Contains(b, a):
		return 0.4
	}
	return 0
}

// novelty prefers names that the block declares and does not read yet, and those that are written close before.
func (c *completion) novelty(name string) float64 {
	if c.reads == nil {
		c.readBlock()
	}
	score := 0.0
	if c.reads[name] == 0 {
		score += 15
	}
	if last, written := c.lastAt[name]; written {
		score += 10 * float64(last) / float64(max(c.from-c.region.From, 1))
	}
	return score
}

// readBlock finds the names that the block around the cursor reads as members, and where it writes each name last
// before the cursor.
func (c *completion) readBlock() {
	c.reads, c.lastAt = map[string]int{}, map[string]int{}
	block := c.src[c.region.From:c.region.To]
	for at := 0; at < len(block); at++ {
		start := at
		for at < len(block) && isWord(block[at]) {
			at++
		}
		if start == at || start+c.region.From == c.from {
			continue
		}
		name := string(block[start:at])
		if start > 0 && block[start-1] == '.' {
			c.reads[name]++
		}
		if start+c.region.From < c.from {
			c.lastAt[name] = start
		}
	}
}
