// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

// Helm limits the bytes of one archive and of one file. These limits apply to an archive together
// with all archives in it. Popular charts need less than a tenth of each.
const (
	// maxUnpackedBytes limits the size of an unpacked chart, headers and padding included.
	maxUnpackedBytes = 100 << 20
	// maxEntries limits the number of files and directories.
	maxEntries = 20_000
	// maxNesting limits the depth of subcharts in subcharts, in directories or archives.
	maxNesting = 16
	// maxBlocks limits the blocks, such as {{ if }}, in the templates of one file. The parser uses
	// stack for each nested block.
	maxBlocks = 50_000
)
