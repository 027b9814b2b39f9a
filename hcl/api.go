package hcl

import (
	"context"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Aliases by which adapters and the runtime use the types of the packages below.

// Diagnostics and source ranges.
type (
	Diagnostic  = diag.Diagnostic
	Diagnostics = diag.Diagnostics
	Range       = diag.Range
)

const (
	Error  = diag.Error
	Hidden = diag.Hidden
)

// Blame returns an error that is reported at the attribute decoded into field; see diag.Blame.
func Blame(field any, format string, args ...any) error { return diag.Blame(field, format, args...) }

// Specs of blocks, and the types that arguments are decoded into.
type (
	Spec        = decode.Spec
	Field       = decode.Field
	Value       = decode.Value
	Size        = decode.Size
	Statuses    = decode.Statuses
	SecretText  = decode.SecretText
	SecretTexts = decode.SecretTexts

	Expr         = hclexpr.Expr
	StringExpr   = hclexpr.StringExpr
	TextTemplate = hclexpr.TextTemplate
	KeyValues    = hclexpr.KeyValues
	KeyValue     = hclexpr.KeyValue
	Entry        = hclexpr.Entry
	SQL          = hclexpr.SQL
	Script       = hclexpr.Script
	Argv         = hclexpr.Argv
	Pipe         = hclexpr.Pipe
	RequestURL   = hclexpr.RequestURL
	Program      = hclexpr.Program
	Condition    = hclexpr.Condition
)

// Attr declares an argument that is decoded into dst; see decode.Attr.
func Attr[T Value](dst *T, name, doc string) Field { return decode.Attr(dst, name, doc) }

// Block declares a nested block that is decoded into a new T; see decode.Block.
func Block[T any](dst **T, name, doc string, spec func(*T) Spec) Field {
	return decode.Block(dst, name, doc, spec)
}

// Join concatenates the parts of a Spec.
func Join(parts ...Spec) Spec { return decode.Join(parts...) }

// ExactlyOneOf declares that exactly one of the arguments must be set.
func ExactlyOneOf(what string, fields ...Field) Spec { return decode.ExactlyOneOf(what, fields...) }

// AtMostOneOf declares that at most one of the arguments may be set.
func AtMostOneOf(what string, fields ...Field) Spec { return decode.AtMostOneOf(what, fields...) }

// Choice declares an argument that takes one of several words; see decode.Choice.
func Choice(dst *string, name, doc string, among ...string) Field {
	return decode.Choice(dst, name, doc, among...)
}

// Encoding declares the argument encoding, which takes the name of the encoding of a text; see decode.Encoding.
func Encoding(dst *string, doc string) Field { return decode.Encoding(dst, doc) }

// PositiveInt declares an integer that is known at load and at least 1; see decode.PositiveInt.
func PositiveInt(dst *int, name, doc string) Field { return decode.PositiveInt(dst, name, doc) }

// PositiveDuration declares a duration that is longer than zero; see decode.PositiveDuration.
func PositiveDuration(dst *time.Duration, name, doc string) Field {
	return decode.PositiveDuration(dst, name, doc)
}

// EachField declares the argument each; see decode.EachField.
func EachField(dst **Expr, name, doc string) Field { return decode.EachField(dst, name, doc) }

// CommandFields declares what to run; see decode.CommandFields.
func CommandFields(run Spec, stdin **Expr, stdinDoc string, env **KeyValues, envDoc string, dataPrograms *[]string,
	dataProgramsDoc string, runsStdin *bool, runsStdinDoc string) Spec {
	return decode.CommandFields(run, stdin, stdinDoc, env, envDoc, dataPrograms, dataProgramsDoc, runsStdin,
		runsStdinDoc)
}

// FolderField declares a folder in which programs work; see decode.FolderField.
func FolderField(dst **StringExpr, name, doc string) Field {
	return decode.FolderField(dst, name, doc)
}

// Headers declares named values that may hold secrets; see decode.Headers.
func Headers(dst **KeyValues, name, doc string) Field { return decode.Headers(dst, name, doc) }

// WithPage makes a page of the output readable in fields; see decode.WithPage.
func WithPage(t *schema.Type, fields ...Field) Spec { return decode.WithPage(t, fields...) }

// WithOutput makes the root output readable in fields; see decode.WithOutput.
func WithOutput(t *schema.Type, fields ...Field) Spec { return decode.WithOutput(t, fields...) }

// The values of one call.
type (
	Frame = eval.Frame
	Each  = eval.Each

	CallerMembers = eval.CallerMembers
)

// NewFrame returns the frame of a call; see eval.NewFrame.
func NewFrame(ctx context.Context, base string, now func() time.Time) *Frame {
	return eval.NewFrame(ctx, base, now)
}
