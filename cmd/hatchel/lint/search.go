package lint

import (
	"fmt"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// minSearched is how many tokens a list takes at least for which a search is worth its calls.
const minSearched = 15_000

// checkSearch checks the search block of a toolset whose tools would take so many tokens in a list.
func (c *checker) checkSearch(set *hcl.Toolset, tokens, tools int) {
	if tokens >= minSearched {
		return
	}
	const text = "The list of all %d tools of the toolset %q takes ≈ %d tokens. Below %d, a model does better with " +
		"the list than with a search before each new task: leave the search block out."
	c.report("search", diag.Warning, set.Search.Range, "Search of a short list",
		fmt.Sprintf(text, tools, set.Name, tokens, minSearched))
}
