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

// SelectIn is Select for a directory in place of an artifact, with the same rules and limits. Links,
// special files, .git and what ignored reports are left out, as source-controller does.
func SelectIn(root *os.Root, ignored func(name string, dir bool) bool, patterns []string) ([]Selection, error) {
	s := NewSelector(patterns)
	left := int64(maxUnpackedBytes)
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(err)
		case name == ".":
			return nil
		case path.Base(name) == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.IsDir() && !entry.Type().IsRegular(), ignored(name, entry.IsDir()):
			// A file of an ignored directory may be included.
			return nil
		}
		if !entry.IsDir() {
			info, err := entry.Info()
			if err != nil {
				return unreadable(err)
			}
			if left -= info.Size(); left < 0 {
				return errArtifactTooLarge
			}
		}
		file := &openedFile{root: root, name: name}
		defer file.close()
		return s.Add(name, true, entry.IsDir(), file)
	})
	if err != nil {
		return nil, err
	}
	return s.Selections(), nil
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
