package decode

import (
	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Env is what the bodies of a configuration are decoded with. The loader fills it in as it
// proceeds.
type Env struct {
	hclexpr.CompileEnv
	NamedType func(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics)
	UploadURL *string  // where files are uploaded to; what it points to may be written until all is loaded
	Webhooks  []string // that are declared
	Partial   bool     // a file could not be read: what it may declare is not missed
}
