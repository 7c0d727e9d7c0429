! Marked regions from Fortran: compile this file with the program and link -lroofline-region.
!
!     use roofline_region
!     call region_begin("spmv")
!     call region_end("spmv")
module roofline_region
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  implicit none
  private
  public :: region_begin, region_end

  interface
    subroutine c_begin(name) bind(c, name="roofline_region_begin")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine c_begin
    subroutine c_end(name) bind(c, name="roofline_region_end")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine c_end
  end interface

contains

  subroutine region_begin(name)
    character(len=*), intent(in) :: name
    call c_begin(trim(name)//c_null_char)
  end subroutine region_begin

  subroutine region_end(name)
    character(len=*), intent(in) :: name
    call c_end(trim(name)//c_null_char)
  end subroutine region_end

end module roofline_region
