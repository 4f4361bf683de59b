// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package postrender applies spec.postRenderers and spec.commonMetadata to rendered manifests. A
// document without changes keeps its bytes.
//
// It uses kustomize's patches, but not its builds: a build replaces a schema that is global to the
// process, so that builds have to run one at a time. This package only reads the schema, so that
// renderers may run concurrently.
//
//	action.go    post-rendering in an action of Helm
//	image.go     changes of images
//	patch.go     strategic merge patches and JSON patches
//	node.go      conversion from and to kustomize's nodes
//	renderer.go  Renderer: the steps of a spec, and their application to manifests
//	metadata.go  common labels and annotations
//	document.go  manifests as documents: splitting, decoding, printing
//	step.go      one change, and its selector
//	selector.go  the objects that a step applies to
//	object.go    one object or list of a document
package postrender
