package hclexpr

import "hatchel/hcl/eval"

// trackReads returns what the expressions that compile compiles read.
func (c *Compiler) trackReads(compile func()) eval.ReadSet {
	outer := c.reads
	c.reads = eval.ReadSet{}
	compile()
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}

// trackLoop is trackReads for a loop, which does not depend on its own variables.
func (c *Compiler) trackLoop(compile func()) eval.ReadSet {
	first, outer := c.slots, c.reads
	c.reads = eval.ReadSet{}
	compile()
	if eval.MaxLoopVars-c.reads.Loop >= first {
		c.reads.Loop = 0
	}
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}
