package hcl

// trackReads compiles something and tells what it reads.
func (c *Compiler) trackReads(compile func()) ReadSet {
	outer := c.reads
	c.reads = ReadSet{}
	compile()
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}

// trackLoop compiles a loop: its own variables are nothing that it depends on.
func (c *Compiler) trackLoop(compile func()) ReadSet {
	first, outer := c.slots, c.reads
	c.reads = ReadSet{}
	compile()
	if maxLoopVars-c.reads.Loop >= first {
		c.reads.Loop = 0
	}
	inner := c.reads
	c.reads = outer.Union(inner)
	return inner
}
