package hclexpr

import "hatchel/hcl/eval"

// trackReads compiles something and tells what it reads.
func (c *Compiler) trackReads(compile func()) eval.ReadSet {
	outer := c.reads
	c.reads = eval.ReadSet{}
	compile()
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}

// trackLoop compiles a loop: its own variables are nothing that it depends on.
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
