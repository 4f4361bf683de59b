// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Ignored reports whether source-controller leaves a file or directory out of an artifact. Files of an
// ignored directory may be in it.
type Ignored func(name string, dir bool) bool

// SelectIn is Select for a directory in place of an artifact, with the same rules and limits.
func SelectIn(root *os.Root, ignored Ignored, patterns []string) ([]Selection, error) {
	s := NewSelector(patterns)
	err := walkIn(root, ".", ignored, func(name string, info fs.FileInfo) error {
		file := &openedFile{root: root, name: name}
		defer file.close()
		return s.Add(name, true, info.IsDir(), file)
	})
	if err != nil {
		return nil, err
	}
	return s.Selections(), nil
}

// walkIn calls visit for the files and directories below dir that an artifact would have: links, special
// files and .git are left out, as source-controller does.
func walkIn(root *os.Root, dir string, ignored Ignored, visit func(name string, info fs.FileInfo) error) error {
	left := int64(maxUnpackedBytes)
	return fs.WalkDir(root.FS(), dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(err)
		case name == dir:
			return nil
		case path.Base(name) == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.IsDir() && !entry.Type().IsRegular(), ignored(name, entry.IsDir()):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return unreadable(err)
		}
		if !info.IsDir() {
			left -= info.Size()
		}
		if left < 0 {
			return errArtifactTooLarge
		}
		return visit(name, info)
	})
}

// unreadable returns an error that continues a sentence.
func unreadable(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return errors.New("cannot be read: " + quoteName(at.Path) + ": " + at.Err.Error())
	}
	return errors.New("cannot be read: " + err.Error())
}

// openedFile is a file that is opened when it is read.
type openedFile struct {
	root *os.Root
	name string
	file *os.File
}

// Read implements io.Reader.
func (f *openedFile) Read(p []byte) (int, error) {
	if f.file == nil {
		var err error
		if f.file, err = f.root.Open(f.name); err != nil {
			return 0, err
		}
		// It may have been replaced since the directory was read.
		if info, err := f.file.Stat(); err != nil || !info.Mode().IsRegular() {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return f.file.Read(p)
}

func (f *openedFile) close() {
	if f.file != nil {
		_ = f.file.Close()
	}
}
