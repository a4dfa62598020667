"""Pure code: no input or output, nothing imported but the standard library."""
