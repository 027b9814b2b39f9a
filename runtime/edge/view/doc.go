// Package view makes the apps with which hosts of MCP Apps show the results of tools: one program of plain JavaScript,
// with the declaration of the view of one tool.
package view
