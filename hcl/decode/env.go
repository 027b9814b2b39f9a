package decode

import (
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Env is the environment for decoding the bodies of a configuration. The loader completes it as it
// proceeds.
type Env struct {
	hclexpr.CompileEnv
	Now       func() time.Time
	NamedType func(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics)
	UploadURL *string  // the upload URL; the target of the pointer is set during the load
	Webhooks  []string // that are declared
	Partial   bool     // a file could not be read, so missing declarations are not reported
}
